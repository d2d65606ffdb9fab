import { join } from "node:path";
import { filesAt, type Kept } from "../../../app/keep/kept.ts";
import { type KeptPeople, openKept } from "../../../service/people/purge.ts";
import type { Context } from "../../../shared/context.ts";
import { grouped } from "../../../shared/contract/text.ts";
import { bytesText } from "../../../shared/numbers.ts";
import type { Command } from "../../options.ts";
import { documentsOf, printList } from "../../terminal/list.ts";
import { Printer } from "../../terminal/printer.ts";
import { KEPT_COLUMNS } from "../data.ts";
import { addFolderOptions, type FolderOptions, folderOf, ledgerOf, serviceError } from "./folder.ts";

export function register(service: Command, context: Context): void {
  addFolderOptions(service.command("data"))
    .description(
      "Show what a data folder keeps of people, and for how long: versions of the dataset, stored replies (24 hours), exports and segments of the browser console, the suppression list, ledger and audit. Changes nothing.",
    )
    .examples(`
  $ headcount service data --data ./demo
  $ headcount service data --data ./demo --json | jq '.kept[] | {what, people, oldest}'

See also: headcount service forget`)
    .does((options: FolderOptions) => show(options, context));
}

async function show(options: FolderOptions, context: Context): Promise<void> {
  const dir = await folderOf(options, context);
  const printer = new Printer(context, options);
  const kept = await openKept(dir, await ledgerOf(options, context));
  let found: readonly Kept[];
  try {
    found = [...(await datasets(kept)), ...(await inLedger(kept)), ...(await beside(kept))];
  } catch (error) {
    throw serviceError(error, dir);
  } finally {
    await kept.close();
  }
  if (printer.json) return printer.document({ kept: documentsOf(KEPT_COLUMNS, found) });
  await printList(KEPT_COLUMNS, found, printer, "nothing is kept in this folder yet");
  const { bytes } = await filesAt(dir);
  if (printer.terminal) printer.note(`${grouped(found.length)} kinds, ${bytesText(bytes)} in ${dir}`);
}

async function datasets({ folders }: KeptPeople): Promise<Kept[]> {
  const { versionsOf } = await import("../../../dataset/versions.ts");
  const found: Kept[] = [];
  for (const [dir, name] of [
    [folders.dataset, "dataset"],
    [folders.testDataset, "dataset of test keys"],
  ] as const) {
    const versions = await versionsOf(dir).catch((error: Error) => {
      if (error.name === "NoDatasetError") return [];
      throw error;
    });
    for (const { bytes, created_at, path, people, serves } of versions) {
      const at = Date.parse(created_at);
      const what = serves ? name : `${name}, older version`;
      found.push({ what, path, items: 1, people, rows: people, bytes, oldest: at, newest: at });
    }
  }
  return found;
}

/** What replies and console have. People are told apart by their ids. */
async function inLedger({ dir, store }: KeptPeople): Promise<Kept[]> {
  if (store === undefined) return [];
  const { peopleIn } = await import("../../../service/people/suppressed.ts");
  const path = join(dir, "ledger.db");
  const people = new Set<string>();
  let [items, rows, bytes] = [0, 0, 0];
  const times: number[] = [];
  for await (const { createdAt, mode, reply } of store.people.replies()) {
    const here = peopleIn(reply);
    items++;
    rows += here.length;
    bytes += Buffer.byteLength(reply.body);
    times.push(createdAt);
    for (const { address, id } of here) people.add(`${mode} ${id ?? address}`);
  }
  const [oldest, newest] = items === 0 ? [null, null] : [Math.min(...times), Math.max(...times)];
  const filters = await store.people.filters();
  const nobody = { path, people: null, rows: null, bytes: null, oldest: null, newest: null };
  const audit = await store.audit({ limit: 1 });
  const last = audit[0]?.at ?? null;
  return [
    { what: "stored replies", path, items, people: people.size, rows, bytes, oldest, newest },
    { ...nobody, what: "console exports", items: filters.length },
    { ...nobody, what: "audit", items: Number(audit[0]?.id ?? 0n), newest: last },
  ].filter(({ items: some, what }) => some > 0 || what === "stored replies");
}

async function beside({ dir, folders }: KeptPeople): Promise<Kept[]> {
  const { readSuppressedEntries } = await import("../../../dataset/suppression.ts");
  const ledger = await filesAt(join(dir, "ledger.db"));
  const log = await filesAt(join(dir, "ledger.db-wal"));
  const list = await filesAt(folders.suppression);
  const entries = await readSuppressedEntries(folders.suppression);
  const nobody = { people: null, rows: null };
  const found: Kept[] = [
    { ...ledger, what: "ledger", path: join(dir, "ledger.db"), bytes: ledger.bytes + log.bytes, ...nobody },
    { ...list, what: "suppression list", path: folders.suppression, items: entries, ...nobody },
  ];
  return found.filter(({ bytes, items }) => items > 0 && bytes !== 0);
}
