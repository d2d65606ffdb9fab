import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, test } from "vitest";

const SRC = resolve(import.meta.dirname, "../../src");

/** Which storey may import which (docs/contributing/architecture.md). */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  shared: [],
  engine: ["shared"],
  app: ["engine", "shared"],
  cli: ["app", "engine", "shared"],
  api: ["app", "engine", "shared"],
  dataset: ["shared"],
  service: ["dataset", "shared"],
  console: ["shared"],
  publish: ["shared"],
};
/** Within the engine: rooms that stand beside each other meet in app. */
const ENGINE: Readonly<Record<string, readonly string[]>> = {
  client: [],
  connections: ["client"],
  dialect: ["client"],
  runs: ["client"],
  planning: [],
  output: ["runs"],
  purchase: ["planning", "output", "runs", "client"],
  library: ["output", "runs"],
  share: ["runs"],
};
/** The only modules of the client that load the service and the dataset, and only when they run. */
const MAY_LOAD_SERVICE = /^(app\/sample|cli\/commands\/(serve|service\/[a-z-]+))\.ts$/;
/** The page names what its API answers by the types of its API, and loads nothing of it. */
const isAnswerOfConsole = ({ file, kind, target }: Import): boolean =>
  file.startsWith("console/") && target.startsWith("service/console/") && kind === "type";
/** What still goes upwards: no more than these, each gone with the seam that it waits for. */
const UPWARDS: Readonly<Record<string, number>> = {
  "cli -> service": 2,
};

interface Import {
  readonly file: string;
  readonly target: string;
  readonly kind: "static" | "dynamic" | "type";
}

const files = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((name) =>
  /\.tsx?$/.test(name),
);
const text = (file: string): string =>
  readFileSync(join(SRC, file), "utf8")
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/(^|\s)\/\/.*$/gm, "$1");

function importsOf(file: string): Import[] {
  const found: Import[] = [];
  const source = text(file);
  const add = (specifier: string, kind: Import["kind"]): void => {
    if (!specifier.startsWith(".")) return;
    found.push({ file, target: relative(SRC, resolve(dirname(join(SRC, file)), specifier)), kind });
  };
  for (const match of source.matchAll(
    /\b(?:import|export)\s+(type\s)?[^;"'()]*?from\s*"([^"]+)"/g,
  )) {
    add(match[2] ?? "", match[1] === undefined ? "static" : "type");
  }
  for (const match of source.matchAll(/\bimport\s*"([^"]+)"/g)) add(match[1] ?? "", "static");
  for (const match of source.matchAll(/\bimport\(\s*"([^"]+)"\s*\)/g))
    add(match[1] ?? "", "dynamic");
  return found;
}

const imports = files.flatMap(importsOf);
const storeyOf = (file: string): string => file.slice(0, file.indexOf("/"));

describe("who may import whom", () => {
  test("every relative import names a file that exists", () => {
    expect(
      imports.filter(({ target }) => !files.includes(target) && !existsSync(join(SRC, target))),
    ).toEqual([]);
    expect(imports.length).toBeGreaterThan(100);
  });

  test("each storey imports only those below it", () => {
    const breaches = imports.filter((each) => {
      const { file, kind, target } = each;
      const from = storeyOf(file);
      const to = storeyOf(target);
      if (from === to || (ALLOWED[from] ?? []).includes(to) || isAnswerOfConsole(each))
        return false;
      return !(
        (to === "service" || to === "dataset") &&
        MAY_LOAD_SERVICE.test(file) &&
        kind !== "static"
      );
    });
    const counts: Record<string, number> = {};
    for (const { file, target } of breaches) {
      const arrow = `${storeyOf(file)} -> ${storeyOf(target)}`;
      counts[arrow] = (counts[arrow] ?? 0) + 1;
    }
    const more = Object.entries(counts).filter(([arrow, count]) => count > (UPWARDS[arrow] ?? 0));
    const named = breaches.map(({ file, target }) => `${file} -> ${target}`);
    expect(more, named.join("\n")).toEqual([]);
  });

  test("each room of the engine imports only those below it", () => {
    const roomOf = (file: string): string => file.split("/")[1] ?? "";
    const breaches = imports.filter(
      ({ file, target }) =>
        file.startsWith("engine/") &&
        target.startsWith("engine/") &&
        roomOf(file) !== roomOf(target) &&
        !(ENGINE[roomOf(file)] ?? []).includes(roomOf(target)),
    );
    expect(breaches).toEqual([]);
  });
});

describe("what touches the outside world", () => {
  // The service and the dataset are programs of their own: they get clocks through options, and use
  // Node's timers.
  const clientSide = files.filter((file) => {
    const storey = storeyOf(file);
    return (
      !["service", "dataset", "console"].includes(storey) &&
      !["cli/main.ts", "api/context.ts"].includes(file) &&
      !/write(-[a-z]+)?\.ts$/.test(file)
    );
  });

  test.each([
    ["process", /(?<![\w.$"'/-])process\s*\.(?!env\.NODE_)/],
    ["console", /(?<![\w.$"'])console\s*\./],
    ["Date.now", /(?<![\w.$])Date\.now\b/],
    ["Math.random", /(?<![\w.$])Math\.random\b/],
  ])("nothing below main.ts and what a program imports uses %s", (_, pattern) => {
    expect(clientSide.filter((file) => pattern.test(text(file)))).toEqual([]);
  });

  test("there is no any and no non-null assertion", () => {
    expect(files.filter((file) => /(:\s*any\b|\bas any\b|<any>)/.test(text(file)))).toEqual([]);
  });
});
