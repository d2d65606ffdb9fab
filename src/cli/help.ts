import { Help } from "commander";
import type { Command } from "./options.ts";
import { pathOf } from "./reading.ts";

type Group = readonly [heading: string, common: string, rare: string];

/**
 * Which options `-h` shows, in this order; the others
 * are in `--help-all`. What no group names comes first.
 */
const BUYING: readonly Group[] = [
  [
    "Filter (flags combine with AND, a flag given again is OR)",
    "department country seniority-level title title-prefix industry filters segment",
    "state city location seniority functional-area first-name last-name name network-url " +
      "headline-prefix location-prefix name-prefix industry-prefix connections-min " +
      "connections-max followers-min followers-max company-network-url except",
  ],
  [
    "Buy",
    "dry-run max-credits limit yes",
    "again require-complete strict all per-page concurrency on-new-dataset receipt",
  ],
  ["Write", "output format fields", "csv misses prefix"],
  ["Guard", "overwrite max-shrink", "min-rows wait"],
  ["Sample", "sample", "seed"],
  ["Owned", "new-only owned", "new-anywhere with-owned max-calls mode"],
];
const SERVING: readonly Group[] = [
  ["Place", "host port public-url tls-cert tls-key", ""],
  ["Data", "data store dataset", "witness force"],
  ["Console", "console", ""],
  ["Watch", "log metrics", ""],
  ["Limits", "max-depth", ""],
];
const COMMANDS = new Set([
  ..."count account filters segment search enrich employees refresh".split(" "),
  ..."runs resume owned sql forget jobs login".split(" "),
]);
const OPTIONS = new Set(["--connection", "--json"]);
const MOST_EXAMPLES = 3;

function groupsOf(command: Command): readonly Group[] {
  if (command.name() === "serve") return SERVING;
  const has = (flag: string): boolean => command.options.some(({ long }) => long === flag);
  // Another command's --name is no filter.
  return has("--filters") ? BUYING : has("--max-credits") ? BUYING.slice(1) : [];
}

/**
 * Puts options into their groups, and leaves what is
 * rare to `--help-all` unless the help is to be whole.
 * @param touches of a whole help: what it says of what a command reads, writes and asks
 */
export function layered(
  command: Command,
  touches?: (command: Command, width: number) => string,
): void {
  const whole = touches !== undefined;
  const groups = groupsOf(command);
  const rare = new Set(
    groups.flatMap(([, , names]) => names.split(" ").map((name) => `--${name}`)),
  );
  const order = groups
    .flatMap(([, common, more]) => `${common} ${more}`.split(" "))
    .map((name) => `--${name}`);
  const sorted = [...command.options].sort(
    (a, b) => order.indexOf(a.long ?? "") - order.indexOf(b.long ?? ""),
  );

  for (const [heading, common, more] of groups) {
    const names = new Set(`${common} ${more}`.split(" "));
    for (const option of sorted)
      if (names.has(option.long?.slice(2) ?? "")) option.helpGroup(`${heading}:`);
  }

  (command.options as unknown[]).splice(0, sorted.length, ...sorted);
  examplesFirst(command, whole ? Number.POSITIVE_INFINITY : MOST_EXAMPLES);
  if (whole) {
    command.addHelpText("after", () => touches(command, widthOf(command)));
    return;
  }

  const isProgram = command.parent === null;
  const isLeftOut = ({ long = "" }: { long?: string }): boolean =>
    isProgram ? !OPTIONS.has(long) && long !== "--help" : rare.has(long);
  const plain = new Help();

  const shown: Partial<Help> = {
    visibleOptions: (of) => plain.visibleOptions(of).filter((option) => !isLeftOut(option)),
    ...(isProgram && {
      visibleCommands: (of) =>
        plain.visibleCommands(of).filter((child) => COMMANDS.has(child.name())),
    }),
  };
  // Of the help alone: what is left out there is suggested after a slip.
  command.configureHelp({
    formatHelp: (of, helper) => plain.formatHelp(of, Object.assign(helper, shown)),
  });

  const rest = sorted.filter((option) => !option.hidden && isLeftOut(option)).length;
  if (rest > 0 && !isProgram)
    command.addHelpText(
      "after",
      () => `\n${rest} more options: headcount ${pathOf(command)} --help-all`,
    );
}

const widthOf = (command: Command): number => command.configureOutput().getOutHelpWidth?.() ?? 80;

/**
 * Examples are what most readers of a help came for:
 * they come before the usage, notes stay at the end.
 */
function examplesFirst(command: Command, most: number): void {
  const [lines = "", ...notes] = command.exampleText.trimEnd().split(/\n{2,}/);
  const fitted = (...paragraphs: readonly string[]): string =>
    paragraphs.map((each) => fitTo(widthOf(command), each)).join("\n\n");

  const examples = lines.split(/\n(?= {2}\$)/).slice(0, most + 1);

  if (lines !== "")
    command.addHelpText(
      "before",
      () => `${fitted(["Examples:", ...examples.slice(1)].join("\n"))}\n`,
    );

  if (notes.length > 0) command.addHelpText("after", () => `\n${fitted(...notes)}`);
}

const EXAMPLE = /^ {2}\$ (.*?)(?: {2,}(\S.*))?$/;

/**
 * Prose broken at spaces, a command continued as a
 * shell reads it, what is said of it beside or beneath.
 */
function fitTo(width: number, paragraph: string): string {
  const lines = paragraph.split("\n");
  const said = lines.map((line) => EXAMPLE.exec(line)).filter((match) => match?.[2] !== undefined);
  const column = Math.max(0, ...said.map((match) => match?.[1]?.length ?? 0)) + 3;

  return lines
    .flatMap((line) => {
      const [, example, comment] = EXAMPLE.exec(line) ?? [];
      if (comment === undefined && line.length <= width) return [line];
      if (example === undefined) return broken(line.split(" "), "", "", width);

      // An option and its value stay together.
      const chunks: string[] = [];
      for (const word of example.match(/(?:[^\s"']|"[^"]*"|'[^']*')+/g) ?? []) {
        if (chunks.length === 0 || /^[-|]/.test(word)) chunks.push(word);
        else chunks.push(`${chunks.pop()} ${word}`);
      }

      const command = broken(chunks, "      ", " \\", width - 4);
      const beside =
        comment !== undefined && command.length === 1 && column + comment.length <= width - 4;
      if (beside) return [`  $ ${example.padEnd(column)}${comment}`];

      return [`  $ ${command.join("\n")}`, ...(comment === undefined ? [] : [`      ${comment}`])];
    })
    .join("\n");
}

/** Lines of at most `width` columns, those behind the first indented. */
export function broken(
  words: readonly string[],
  indent: string,
  joint: string,
  width: number,
): string[] {
  const lines = [""];
  for (const word of words) {
    const line = lines.at(-1) ?? "";
    const longer = line.trim() === "" ? `${line}${word}` : `${line} ${word}`;
    if (line.trim() !== "" && longer.length + joint.length > width)
      lines.splice(-1, 1, line + joint, indent + word);
    else lines.splice(-1, 1, longer);
  }
  return lines;
}
