import { onTestFinished } from "vitest";
import { swiftClock } from "./client.ts";
import { type Ran, readCsv, type User, user } from "./export.ts";
import {
  type ForeignOptions,
  type ForeignService,
  startForeignService,
} from "./foreign-service.ts";

export interface ForeignScene {
  readonly service: ForeignService;
  readonly u: User;
  run(...argv: string[]): Promise<Ran>;
  /** Of the people in `o.csv`. */
  ids(): string[];
}

/** A service that we did not write, until the test is over, and a user who has a key of it. */
export async function foreignScene(change: Partial<ForeignOptions> = {}): Promise<ForeignScene> {
  const service = await startForeignService(change);
  onTestFinished(() => service.close());
  const u = user(service.url, service.key);
  const ids = (): string[] => readCsv(u.read("o.csv")).map(({ id }) => id ?? "");
  const clock = swiftClock();
  return { service, u, run: (...argv) => u.run(argv, { clock }), ids };
}
