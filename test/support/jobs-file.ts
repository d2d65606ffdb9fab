import { writeFileSync } from "node:fs";
import { type User, user } from "./export.ts";

export const LEGAL = {
  command: "search",
  filters: { department: "Legal" },
  max_credits: 12,
  output: "legal.csv",
};

/** Writes a file of jobs. @returns the words that name it */
export function jobsFile(of: User, document: unknown, name = "jobs.jsonc"): string[] {
  writeFileSync(of.file(name), typeof document === "string" ? document : JSON.stringify(document));
  return ["--file", name];
}

/** The lines of a log of jobs. */
export const outcomesIn = (of: User, name: string): Record<string, unknown>[] =>
  of
    .read(name)
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

/** What a command loads is loaded before the first test, whose time is bounded. */
export async function loadJobs(): Promise<void> {
  const nobody = user("http://127.0.0.1:9", "hc_test_nobody");
  await nobody.run(["jobs", "run", ...jobsFile(nobody, "{}")]);
}
