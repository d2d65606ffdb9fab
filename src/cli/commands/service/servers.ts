import type { ServedPeople } from "../../../dataset/clickhouse/left-out.ts";
import type { Context } from "../../../shared/context.ts";
import { shellWord } from "../../../shared/contract/command-line.ts";
import { withoutPassword } from "../../../shared/contract/text.ts";
import type { Command } from "../../options.ts";

export interface ServersOptions {
  readonly dataset?: string;
}

export const addServersOption = (command: Command): Command =>
  command.option("--dataset <url>", "leave them out of the dataset in clickhouse://... too");

/** The option again, for a command that is named to somebody. */
export const serversFlag = ({ dataset }: ServersOptions): string =>
  dataset === undefined ? "" : ` --dataset ${shellWord(withoutPassword(dataset))}`;

export async function servedPeople(
  { dataset }: ServersOptions,
  { env, interrupted, sleep }: Context,
): Promise<ServedPeople | undefined> {
  if (dataset === undefined) return undefined;
  const { ServedPeople } = await import("../../../dataset/clickhouse/left-out.ts");
  return ServedPeople.open(dataset, env.HEADCOUNT_CLICKHOUSE_PASSWORD ?? "", { sleep, signal: interrupted });
}
