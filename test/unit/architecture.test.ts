import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { describe, expect, test } from "vitest";

const SRC = resolve(import.meta.dirname, "../../src");

/** Which folder may import which (docs/architecture.md). Files directly under src/ are named one by one. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  console: ["contract"],
  terminal: ["contract"],
  dataset: ["contract"],
  render: ["contract"],
  service: ["dataset", "render", "contract"],
  client: ["contract"],
  connections: ["client", "contract"],
  runs: ["client", "contract"],
  output: ["render", "runs", "contract"],
  purchase: ["planning", "output", "render", "runs", "client", "contract"],
  library: ["output", "render", "runs", "contract"],
  planning: ["contract"],
  commands: [
    "library",
    "purchase",
    "planning",
    "output",
    "render",
    "runs",
    "client",
    "connections",
    "terminal",
    "contract",
  ],
  completion: ["contract"],
};
/** Files directly under src/ that a layer may use. */
const SHARED: Readonly<Record<string, readonly string[]>> = {
  client: ["errors.ts", "context.ts"],
  connections: ["errors.ts", "context.ts"],
  runs: ["errors.ts", "context.ts"],
  render: ["errors.ts"],
  output: ["errors.ts", "context.ts"],
  purchase: ["errors.ts", "context.ts"],
  library: ["errors.ts", "context.ts"],
  terminal: [],
  service: ["paths.ts", "version.ts"],
  commands: ["errors.ts", "context.ts", "options.ts", "usage.ts", "program.ts", "version.ts", "topics.ts", "paths.ts"],
  completion: ["errors.ts", "context.ts", "options.ts", "program.ts", "version.ts", "topics.ts", "paths.ts"],
};
/** The only commands that load the service and the dataset, and only when they run. */
const MAY_LOAD_SERVICE = /^commands\/(serve|service\/[a-z-]+|sample|session|doctor)\.ts$/;

interface Import {
  readonly file: string;
  readonly target: string;
  readonly kind: "static" | "dynamic" | "type";
}

const files = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name));
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
  for (const match of source.matchAll(/\b(?:import|export)\s+(type\s)?[^;"'()]*?from\s*"([^"]+)"/g)) {
    add(match[2] ?? "", match[1] === undefined ? "static" : "type");
  }
  for (const match of source.matchAll(/\bimport\s*"([^"]+)"/g)) add(match[1] ?? "", "static");
  for (const match of source.matchAll(/\bimport\(\s*"([^"]+)"\s*\)/g)) add(match[1] ?? "", "dynamic");
  return found;
}

const imports = files.flatMap(importsOf);
const layerOf = (file: string): string | undefined =>
  file.includes("/") ? file.slice(0, file.indexOf("/")) : undefined;

describe("who may import whom", () => {
  test("every relative import names a file that exists", () => {
    expect(imports.filter(({ target }) => !files.includes(target))).toEqual([]);
    expect(imports.length).toBeGreaterThan(100);
  });

  test("each layer imports only the layers below it", () => {
    const breaches = imports.filter(({ file, target, kind }) => {
      const from = layerOf(file);
      const to = layerOf(target);
      if (from === undefined || from === to) return false;
      if (to === undefined) return !(SHARED[from] ?? []).includes(target);
      if ((ALLOWED[from] ?? []).includes(to)) return false;
      return !((to === "service" || to === "dataset") && MAY_LOAD_SERVICE.test(file) && kind !== "static");
    });
    expect(breaches).toEqual([]);
  });

  test("client and service never meet", () => {
    const meets = imports.filter(
      ({ file, target }) =>
        (layerOf(file) === "client" && layerOf(target) === "service") ||
        (layerOf(file) === "service" &&
          ["client", "connections", "runs", "purchase", "output", "terminal"].includes(layerOf(target) ?? "")),
    );
    expect(meets).toEqual([]);
  });
});

describe("what touches the outside world", () => {
  // The service and the dataset are programs of their own: they get clocks through options, and use Node's timers.
  const clientSide = files.filter((file) => {
    const layer = layerOf(file);
    return (
      layer !== "service" &&
      layer !== "dataset" &&
      layer !== "console" &&
      file !== "main.ts" &&
      !/write(-[a-z]+)?\.ts$/.test(file)
    );
  });

  test.each([
    ["process", /(?<![\w.$"'/-])process\s*\.(?!env\.NODE_)/],
    ["console", /(?<![\w.$"'])console\s*\./],
    ["Date.now", /(?<![\w.$])Date\.now\b/],
    ["Math.random", /(?<![\w.$])Math\.random\b/],
  ])("nothing below main.ts uses %s", (_, pattern) => {
    expect(clientSide.filter((file) => pattern.test(text(file)))).toEqual([]);
  });

  test("there is no any and no non-null assertion", () => {
    expect(files.filter((file) => /(:\s*any\b|\bas any\b|<any>)/.test(text(file)))).toEqual([]);
  });
});
