import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/** How a file of tests is run: in a process that it shares with others, or in one of its own. */
export type Kind = "in" | "apart";

const TEST = resolve(import.meta.dirname, "..");

/** Their tests start programs, send signals or need a machine as it is: each file has a process of its own. */
const APART = /^(?:campaigns|e2e|faults|foreign|keyring|simulation)\//;

/**
 * What a process has once: a file that changes it cannot share one, and one that starts a program has two things to wait for.
 * `// apart: WHY` in the first line says it of a file whose reason does not show here.
 */
const OF_THE_PROCESS =
  /"(?:node:)?(?:child_process|cluster)"|\bprocess\.(?:chdir|umask|kill|on|once|emit)\(|\bprocess\.env\.\w+ = |\bvi\.(?:mock|useFakeTimers|stubEnv)\(|^\/\/ apart: /m;

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

/** Whether a file, or anything of test/ that it imports, touches what a process has once. */
function isApart(file: string, seen = new Set<string>()): boolean {
  if (seen.has(file)) return false;
  seen.add(file);

  const source = sourceOf(file);
  if (!SHARED.test(file) && OF_THE_PROCESS.test(source)) return true;

  const imported = [...source.matchAll(/^(?:import|export) (?!type )[^;]*? from "(\.[^"]+\.ts)"/gm)]
    .map(([, specifier = ""]) => resolve(dirname(file), specifier))
    .filter((path) => path.startsWith(TEST));
  return imported.some((path) => isApart(path, seen));
}

export interface TestFile {
  /** From the root of the project: `test/unit/budget.test.ts`. */
  readonly path: string;
  readonly kind: Kind;
  /** The whole file takes long. */
  readonly isLong: boolean;
  /** Some of its tests take long. */
  readonly hasLong: boolean;
}

/** Every file of tests, and how it is to be run. */
export function testFiles(): TestFile[] {
  return readdirSync(TEST, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.ts"))
    .sort()
    .map((name) => {
      const file = join(TEST, name);
      return {
        path: `test/${name}`,
        kind: APART.test(name) || isApart(file) ? "apart" : "in",
        isLong: name.endsWith(".long.test.ts") || name.startsWith("foreign/"),
        hasLong: /\/support\/long\.ts"|\btags: \["long"\]/.test(sourceOf(file)),
      };
    });
}
