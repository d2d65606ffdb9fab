import { type PostgresCluster, startCluster } from "../../support/store-postgres.ts";

// One server for all campaigns that are played in a process: it takes longer to start than they do.
let shared: Promise<PostgresCluster> | undefined;
let schemas = 0;

export function sharedCluster(): Promise<PostgresCluster> {
  shared ??= startCluster();
  return shared;
}

/** A name for a ledger of its own on it. */
export function nextSchema(): string {
  schemas += 1;
  return `campaign_${schemas}`;
}

export async function removeCluster(): Promise<void> {
  const cluster = await shared;
  shared = undefined;
  await cluster?.remove();
}
