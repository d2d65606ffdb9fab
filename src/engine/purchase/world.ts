// Tested by test/cli/search.test.ts.
import type { Context } from "../../shared/context.ts";
import type { Credits } from "../../shared/contract/money.ts";
import type { Pacer } from "../client/pacing.ts";
import type { AccountView, ServiceClient } from "../client/types.ts";
import type { Books } from "../runs/books.ts";
import type { Disk } from "../runs/disk.ts";

export type Clock = Pick<Context, "now" | "sleep" | "random">;

export interface Seller {
  readonly client: ServiceClient;
  readonly pacer: Pacer;
  readonly connectionName: string;
  /** Names the service for good (its base URL; for the sample a name without a port). */
  readonly serviceId: string;
  readonly maxWaitMs: number;
}

export interface World extends Clock, Pick<Context, "interrupted"> {
  readonly seller: Seller;
  readonly stateDir: string;
  readonly disk: Disk;
}

export interface Asking extends Pick<World, "seller" | "interrupted"> {
  readonly onNotice: (text: string) => void;
}

export interface Start {
  readonly run: string;
  readonly kept: number;
  readonly rows: number;
  readonly cap: Credits;
}

export interface Wait {
  readonly reason: "rate_limit" | "retry";
  readonly until: number;
  readonly why: string;
}

export interface Progress {
  readonly rows: number;
  readonly settled: Credits;
  readonly uncertain: Credits;
  readonly wait: Wait | undefined;
}

/** @returns whether it lasted; false where what it waits with ended */
export const lasted = (sleep: Clock["sleep"], ms: number, ends: AbortSignal): Promise<boolean> =>
  sleep(ms, ends).then(
    () => !ends.aborted,
    () => false,
  );

/** The rate limit that is known: the account tells it, or the headers of replies. */
export const perMinuteOf = (
  account: Pick<AccountView, "perMinute">,
  { seller }: { readonly seller: Seller },
) => account.perMinute ?? seller.pacer.perMinute();

export async function payerOf({ seller, interrupted, now }: World): Promise<Payer> {
  const askedAt = now();
  const told = await seller.client.account(interrupted);
  return { ...told, read: { askedAt, at: now() } };
}

/** With what the cap of the key leaves: as agreed to, else told where the account names its key. */
export async function accountOf(
  world: World,
  agreed?: Pick<AccountView, "capLeft">,
): Promise<Payer> {
  const { client } = world.seller;
  const account = await payerOf(world);
  if (agreed !== undefined || account.keyId === undefined)
    return { ...account, capLeft: agreed?.capLeft };
  return { ...account, capLeft: (await client.key(world.interrupted))?.cap?.left };
}

/** What the service tells of who pays, and when it did: others may have spent since. */
export interface Payer extends AccountView {
  readonly read: Books["lastRead"];
}
