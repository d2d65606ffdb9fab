import { styleText } from "node:util";

interface Stream {
  readonly isTTY?: boolean;
  readonly columns?: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * `NO_COLOR` over `--no-color` over `FORCE_COLOR` over `TERM=dumb` over whether it is a terminal.
 */
export function hasColor(stream: Stream, env: Environment, wanted?: boolean): boolean {
  if (env.NO_COLOR) return false;
  if (wanted === false) return false;
  const forced = env.FORCE_COLOR;
  if (forced !== undefined) return forced !== "0" && forced !== "false";
  if (env.TERM === "dumb") return false;
  return stream.isTTY === true;
}

/**
 * Whether block characters can be shown: everywhere but
 * in a dumb terminal or a locale that is not UTF-8.
 */
export function hasUnicode(env: Environment, platform: NodeJS.Platform): boolean {
  if (env.TERM === "dumb") return false;
  if (platform === "win32" || platform === "darwin") return true;
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG;
  return locale === undefined || locale === "" || /utf-?8/i.test(locale);
}

// Narrower than this nothing is readable; wider than this the eye loses the line.
const NARROWEST = 20;
const FALLBACK_WIDTH = 80;

export const widthOfStream = (stream: Stream): number =>
  Math.max(NARROWEST, stream.columns || FALLBACK_WIDTH);

export type Style = ReturnType<typeof styleFor>;

export function styleFor(color: boolean) {
  // The decision was made by hasColor; styleText must not make it again for process.stdout.
  const paint = (format: Parameters<typeof styleText>[0]) => (text: string) =>
    color && text !== "" ? styleText(format, text, { validateStream: false }) : text;
  return {
    strong: paint("bold"),
    faint: paint("dim"),
    good: paint("green"),
    warning: paint("yellow"),
    bar: paint("cyan"),
  };
}
