import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/** How a file of tests is run: in a process that it shares with others, or in one of its own. */
export type Kind = "in" | "apart";

const TEST = resolve(import.meta.dirname, "..");

/** Their tests are of programs, or need a machine as it is: each file has a process of its own. */
const APART = /^(?:campaigns|e2e|foreign|keyring|simulation)\//;

/**
 * What a process, or a thread of it, has once: a file that changes it cannot share one.
 * `// apart: WHY` in the first line says it of a file whose reason does not show here.
 */
const OF_THE_PROCESS =
  /"(?:node:)?cluster"|\bprocess\.(?:chdir|umask|on|once|emit)\(|\bprocess\.env\.\w+ = |\bvi\.(?:mock|stubEnv)\(|^\/\/ apart: /m;

/** A file that takes long, and starts programs, keeps nobody waiting who shares its process. */
const PROGRAMS = /"(?:node:)?child_process"/;

/** Changed once for the whole run, by the support that every file shares. */
const SHARED = /\/support\/(?:client|global-setup|hints-hold|own-folder)\.ts$/;

const sources = new Map<string, string>();

function sourceOf(file: string): string {
  const known = sources.get(file);
  if (known !== undefined) return known;

  const source = readFileSync(file, "utf8");
  sources.set(file, source);
  return source;
}

/** Whether a file, or anything of test/ that it imports, has what a pattern finds. */
function touches(file: string, what: RegExp, seen = new Set<string>()): boolean {
  if (seen.has(file)) return false;
  seen.add(file);

  const source = sourceOf(file);
  if (!SHARED.test(file) && what.test(source)) return true;

  const imported = [...source.matchAll(/^(?:import|export) (?!type )[^;]*? from "(\.[^"]+\.ts)"/gm)]
    .map(([, specifier = ""]) => resolve(dirname(file), specifier))
    .filter((path) => path.startsWith(TEST));
  return imported.some((path) => touches(path, what, seen));
}

export interface TestFile {
  /** From the root of the project: `test/unit/budget.test.ts`. */
  readonly path: string;
  readonly kind: Kind;
  /** The whole file takes long. */
  readonly isLong: boolean;
  /** Some of its tests take long. */
  readonly hasLong: boolean;
  readonly startsProgram: boolean;
}

/** Every file of tests, and how it is to be run. */
export function testFiles(): TestFile[] {
  return readdirSync(TEST, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.ts"))
    .sort()
    .map((name) => {
      const file = join(TEST, name);
      const isLong = name.endsWith(".long.test.ts") || name.startsWith("foreign/");
      const startsProgram = touches(file, PROGRAMS);
      const isApart =
        APART.test(name) || touches(file, OF_THE_PROCESS) || (isLong && startsProgram);
      return {
        path: `test/${name}`,
        kind: isApart ? "apart" : "in",
        isLong,
        startsProgram,
        hasLong: /\/support\/long\.ts"|\btags: \["long"\]/.test(sourceOf(file)),
      };
    });
}
