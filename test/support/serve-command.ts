import { join } from "node:path";
import { main } from "../../src/cli/main.ts";
import { openStore } from "../../src/service/admin/data-folder.ts";
import { tempDir, testContext } from "./client.ts";

export interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs one command line in this process. */
export async function headcount(...argv: string[]): Promise<Outcome> {
  const { context, stderr, stdout } = testContext({ argv });
  const code = await main(argv, context);
  return { code, out: stdout(), err: stderr() };
}

/** A data folder of its own; no dataset is needed for the accounts. */
export const folder = (): string => join(tempDir(), "data");

/** A data folder that has accounts already. */
export async function foundedFolder(): Promise<string> {
  const data = folder();
  await (await openStore(data)).close();
  return data;
}

/** Runs `serve` until `visit` is done, then interrupts it. */
export async function serving(
  argv: string[],
  visit: (line: string) => Promise<void>,
): Promise<Outcome> {
  const { context, interrupt, stderr, stdout } = testContext({ argv });
  const ended = main(argv, context);
  let over = false;
  ended.then(
    () => {
      over = true;
    },
    () => {
      over = true;
    },
  );
  while (!stdout().includes("\n") && !over) await new Promise((wake) => setTimeout(wake, 10));
  try {
    if (!over) await visit(stdout());
  } finally {
    interrupt("SIGTERM");
  }
  return { code: await ended, out: stdout(), err: stderr() };
}
