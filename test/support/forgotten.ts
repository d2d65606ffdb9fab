import { cpSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { tempDir } from "./client.ts";
import { type User, user } from "./export.ts";
import { ok } from "./ran.ts";
import type { TestService } from "./service.ts";

export type Row = Readonly<Record<"id" | "name" | "network_url", string>>;

export const rows = (text: string): Row[] =>
  text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Row]));

/** Files of a folder in which one of these names stands, or whose name has one. */
export const filesWith = (folder: string, names: readonly string[]): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => statSync(join(folder, name), { throwIfNoEntry: false })?.isFile())
    .filter((name) => {
      const bytes = readFileSync(join(folder, name));
      return names.some((one) => bytes.includes(one) || name.includes(one));
    });

/** Files of a folder in which somebody is to be found by a search for bytes. */
export const holding = (folder: string, { id, network_url }: Row): string[] =>
  filesWith(
    folder,
    // `h3` stands in a random key by chance.
    [id, network_url.slice(network_url.lastIndexOf("/") + 1)].filter((name) => name.length > 4),
  );

export const SALES = ["search", "--department", "Sales", "--yes", "--again"];

export interface History {
  readonly me: User;
  readonly all: readonly Row[];
  readonly canary: Row;
  /** Puts everything back as it was. */
  readonly again: () => void;
}

/** Somebody with runs, a library, and files in several forms. */
export async function historyAt(service: TestService): Promise<History> {
  const me = user(service.url, service.key);
  const all = rows(await ok(me, [...SALES, "--format", "ndjson"]));
  const canary = all[2] as Row;
  await ok(me, [...SALES, "-o", "sales.csv", "--receipt", "receipt.json"]);
  await ok(me, [...SALES, "-o", "sales.ndjson"]);
  await ok(me, [...SALES, "-o", "sales.parquet"]);
  await ok(me, ["search", "--network-url", canary.network_url, "--yes", "--format", "ndjson"]);
  await ok(me, [...SALES, "--limit", "7", "--per-page", "3", "--format", "csv"]);
  await ok(me, ["owned"]);

  const kept = tempDir();
  cpSync(me.dir, kept, { recursive: true });
  const again = (): void => {
    rmSync(me.dir, { recursive: true });
    cpSync(kept, me.dir, { recursive: true });
  };
  return { me, all, canary, again };
}
