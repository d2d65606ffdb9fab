import type { DatabaseSyncInstance } from "@photostructure/sqlite";
import { conditionsOf, type Sql, whereSql } from "../../shared/contract/conditions.ts";
import type { CanonicalFilters } from "../../shared/contract/vocabulary.ts";
import { changedFields, fieldsOf } from "./history.ts";
import { PERSON_COLUMNS } from "./person.ts";
import { AMONG, allRows, firstRow, queryRows } from "./sqlite.ts";

export interface OwnedPerson {
  readonly identity: string;
  /** As the service wrote it; undefined where there is none: no filter names such a person. */
  readonly address: string | undefined;
  readonly name: string | undefined;
  /** Normal forms, by the names of {@link PERSON_COLUMNS}. */
  readonly values: Readonly<Record<string, string | number | null>>;
  /** Null where the service did not tell it. */
  readonly version: string | null;
}

/**
 * By identity, list, canonical address, the run or all runs
 * for a segment that brought them, or by what was bought.
 */
export type Who =
  | readonly string[]
  | { readonly list: number }
  | { readonly addresses: readonly string[] }
  | { readonly domains: readonly string[] }
  | { readonly run: string }
  | { readonly segment: string }
  | { readonly matching: CanonicalFilters };

const COLUMNS = PERSON_COLUMNS.map((column) => `person.${column}`).join(", ");
const PEOPLE = `SELECT identity, run.dataset_version AS version,
  body ->> '$.network_url' AS own_address, ${COLUMNS} FROM person
  JOIN record ON r = person.record
  LEFT JOIN run ON run.id = substr(bought_by, 1, instr(bought_by, ' ') - 1)`;

/** `text` is empty where the filters hold nothing. */
export const matching = (filters: CanonicalFilters): Sql =>
  whereSql(conditionsOf(filters), {
    placeholder: () => "?",
    addressColumns: (column) => ({ slug: `${column}_slug`, address: `${column}_address` }),
  });

/** Suppressed ones too. */
export function ownedBy(database: DatabaseSyncInstance, who: Who): OwnedPerson[] {
  const [where, ...values] = whereOf(who);
  return Array.from(queryRows<Row>(database, `${PEOPLE}${where} ORDER BY n`, ...values), personOf);
}

/** Canonical, each once, of those who have one; suppressed ones too. */
export function addressesIn(database: DatabaseSyncInstance, who: Who): string[] {
  const [where, ...values] = whereOf(who);
  const own = `SELECT DISTINCT network_url_address AS address FROM person${where}`;
  const rows = allRows<{ address: string }>(
    database,
    `SELECT address FROM (${own}) WHERE address IS NOT NULL`,
    ...values,
  );
  return rows.map(({ address }) => address);
}

/** Suppressed ones too. @param who everybody where it is not given */
export function identitiesIn(database: DatabaseSyncInstance, who?: Who): string[] {
  const [where, ...values] = who === undefined ? [""] : whereOf(who);
  const rows = allRows<{ identity: string }>(
    database,
    `SELECT identity FROM person${where} ORDER BY n`,
    ...values,
  );
  return rows.map(({ identity }) => identity);
}

/** How many of {@link identitiesIn}. */
export function countIn(database: DatabaseSyncInstance, who?: Who): number {
  const [where, ...values] = who === undefined ? [""] : whereOf(who);
  const sql = `SELECT count(*) AS count FROM person${where}`;
  return firstRow<{ count: number }>(database, sql, ...values)?.count ?? 0;
}

function whereOf(who: Who): readonly [where: string, ...values: (string | number)[]] {
  if ("matching" in who) {
    const { text, values } = matching(who.matching);
    return [text, ...values];
  }
  if ("addresses" in who)
    return [` WHERE network_url_address ${AMONG}`, JSON.stringify(who.addresses)];
  if ("domains" in who)
    return [
      ` WHERE person.record IN (SELECT r FROM record
        WHERE lower(body ->> '$.company_domain') ${AMONG})`,
      JSON.stringify(who.domains),
    ];
  if ("run" in who) return [" WHERE n IN (SELECT person FROM purchase WHERE run = ?)", who.run];
  if ("list" in who)
    return [among("SELECT person FROM member WHERE list = ? AND until IS NULL"), who.list];
  if (!("segment" in who)) return [among("SELECT value FROM json_each(?)"), JSON.stringify(who)];

  const target = `search ${who.segment}`;
  const lists = `${target} for `;
  const runs = "SELECT id FROM run WHERE target = ? OR substr(target, 1, ?) = ?";
  return [
    ` WHERE n IN (SELECT person FROM purchase WHERE run IN (${runs}))`,
    target,
    lists.length,
    lists,
  ];
}

/** By number first: they are read in the order in which they are stored. */
const among = (identities: string): string =>
  ` WHERE n IN (SELECT n FROM main.person WHERE identity IN (${identities}))`;

/**
 * As the service wrote it, by identity; nobody without a text.
 * @param field of the record, no path
 */
export function textsOf(
  database: DatabaseSyncInstance,
  identities: readonly string[],
  field: string,
) {
  const sql = `SELECT identity, body ->> ? AS value FROM person JOIN record ON r = person.record
    WHERE identity ${AMONG} AND json_type(body, ?) = 'text'`;
  const path = `$.${field}`;
  const rows = allRows<{ identity: string; value: string }>(
    database,
    sql,
    path,
    JSON.stringify(identities),
    path,
  );
  return new Map(rows.map(({ identity, value }) => [identity, value]));
}

export function* newestRecords(
  database: DatabaseSyncInstance,
  identities: readonly string[],
): Generator<string> {
  const [where, ...values] = whereOf(identities);
  const sql = `SELECT body FROM shown AS person JOIN record ON r = person.record${where}
    ORDER BY n`;
  for (const { body } of queryRows<{ body: string }>(database, sql, ...values)) yield body;
}

/** Epoch milliseconds; with the fields that differ. */
export function changedSince(
  database: DatabaseSyncInstance,
  identities: readonly string[],
  at: number,
) {
  const sql = `SELECT identity, body AS now,
      (SELECT old.body FROM purchase JOIN record AS old ON old.r = purchase.record
        WHERE purchase.person = n AND at <= ?
       ORDER BY at DESC, run DESC, unit DESC, position DESC LIMIT 1) AS old
    FROM person JOIN record ON record.r = person.record WHERE bought_at > ? AND +identity ${AMONG}`;

  type Change = { identity: string; now: string; old: string | null };

  const changed = new Map<string, string[]>();
  for (const { identity, now, old } of allRows<Change>(
    database,
    sql,
    at,
    at,
    JSON.stringify(identities),
  )) {
    const fields = old === null || old === now ? [] : changedFields(fieldsOf(old), fieldsOf(now));
    if (fields.length > 0) changed.set(identity, fields);
  }

  return changed;
}

/** By another run, or imported, up to a time in epoch milliseconds. */
export function boughtBefore(
  database: DatabaseSyncInstance,
  identities: readonly string[],
  { run, at }: { readonly run: string; readonly at: number },
): Set<string> {
  const sql = `SELECT identity FROM person WHERE identity ${AMONG}
    AND EXISTS (SELECT 1 FROM purchase
      WHERE purchase.person = n AND purchase.run <> ? AND at <= ?)`;
  const rows = allRows<{ identity: string }>(database, sql, JSON.stringify(identities), run, at);
  return new Set(rows.map(({ identity }) => identity));
}

type Row = Readonly<Record<string, string | number | null>>;

function personOf({ identity, version, own_address, ...values }: Row): OwnedPerson {
  return {
    identity: String(identity),
    address:
      values.network_url_address === null
        ? undefined
        : textOf(own_address ?? values.network_url_address),
    name: textOf(values.name),
    values,
    version: textOf(version) ?? null,
  };
}

const textOf = (value: string | number | null | undefined): string | undefined =>
  value === null || value === undefined ? undefined : String(value);
