import { readFile } from "node:fs/promises";
import { packageRoot } from "../../shared/paths.ts";

export interface Asset {
  readonly body: Buffer;
  readonly headers: Readonly<Record<string, string>>;
}

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

const files = new Map<string, Promise<Buffer | undefined>>();

/**
 * A file of the built console, in brotli where it is taken.
 * @returns undefined where there is none of that name
 */
export async function assetFrom(
  name: string,
  accepted: string | string[] | undefined,
): Promise<Asset | undefined> {
  const type = TYPES[/^[\w-]+\.(\w+)$/.exec(name)?.[1] ?? ""];
  if (type === undefined) return undefined;

  const brotli = /\bbr\b(?!\s*;\s*q=0(?:\.0+)?\s*(?:,|$))/i.test(String(accepted ?? ""))
    ? await read(`${name}.br`)
    : undefined;
  const body = brotli ?? (await read(name));
  if (body === undefined) return undefined;

  return {
    body,
    headers: {
      "content-type": type,
      ...(brotli === undefined ? {} : { "content-encoding": "br" }),
    },
  };
}

export const isConsoleBuilt = async (): Promise<boolean> =>
  (await read("index.html")) !== undefined;

function read(name: string): Promise<Buffer | undefined> {
  let body = files.get(name);
  if (body === undefined) {
    body = readFile(new URL(`dist/console/${name}`, packageRoot())).catch(() => {
      // Names that are made up are without end.
      files.delete(name);
      return undefined;
    });
    files.set(name, body);
  }
  return body;
}

export const isRemembered = (name: string): boolean => files.has(name);
