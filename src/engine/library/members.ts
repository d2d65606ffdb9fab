import type { DatabaseSyncInstance } from "@photostructure/sqlite";
import { conditionsOf, type SqlDialect, whereSql } from "../../shared/contract/conditions.ts";
import type { CanonicalFilters } from "../../shared/contract/filters.ts";
import { changedFields, fieldsOf } from "./history.ts";
import { PERSON_COLUMNS } from "./person.ts";
import { queryRows } from "./sqlite.ts";

/** Somebody who is owned, as the newest record says. */
export interface OwnedPerson {
  readonly identity: string;
  /** Profile address as the service wrote it; undefined where the record has none: no filter names such a person for certain. */
  readonly address: string | undefined;
  /** In normal form. */
  readonly name: string | undefined;
  /** The normal forms that filters match on, by the names of {@link PERSON_COLUMNS}. */
  readonly values: Readonly<Record<string, string | number | null>>;
  /** Epoch milliseconds. */
  readonly boughtAt: number;
  /** The version of the dataset that the record was bought from, where the service told it. */
  readonly version: string | null;
}

/** People by identity, by canonical address, or by the run, or all runs for a segment, that brought them. */
export type Who =
  | readonly string[]
  | { readonly addresses: readonly string[] }
  | { readonly run: string }
  | { readonly segment: string };

const COLUMNS = PERSON_COLUMNS.map((column) => `person.${column}`).join(", ");
const PEOPLE = `SELECT identity, bought_at, run.dataset_version AS version, body ->> '$.network_url' AS own_address, ${COLUMNS} FROM person
  JOIN record ON r = person.record LEFT JOIN run ON run.id = substr(bought_by, 1, instr(bought_by, ' ') - 1)`;

/** Those who match by what was bought. */
export function* membersMatching(
  database: DatabaseSyncInstance,
  filters: CanonicalFilters,
  dialect: SqlDialect,
): Generator<OwnedPerson> {
  const { text, values } = whereSql(conditionsOf(filters), dialect);
  for (const row of queryRows<Row>(database, `${PEOPLE}${text} ORDER BY n`, ...values)) yield personOf(row);
}

/** Those with these identities; who is not owned any more is left out. */
export function* membersNamed(database: DatabaseSyncInstance, identities: readonly string[]): Generator<OwnedPerson> {
  const sql = `${PEOPLE} WHERE identity IN (SELECT value FROM json_each(?)) ORDER BY n`;
  for (const row of queryRows<Row>(database, sql, JSON.stringify(identities))) yield personOf(row);
}

/** Those at these canonical addresses. */
export function* membersAt(database: DatabaseSyncInstance, addresses: readonly string[]): Generator<OwnedPerson> {
  const sql = `${PEOPLE} WHERE network_url_address IN (SELECT value FROM json_each(?)) ORDER BY n`;
  for (const row of queryRows<Row>(database, sql, JSON.stringify(addresses))) yield personOf(row);
}

/** Those whom runs for a segment brought. @param canonical its filters in normal form, as JSON */
export function* membersOfSegment(database: DatabaseSyncInstance, canonical: string): Generator<OwnedPerson> {
  const target = `search ${canonical}`;
  const sql = `${PEOPLE} WHERE n IN (SELECT person FROM purchase WHERE run IN
    (SELECT id FROM run WHERE target = ? OR substr(target, 1, ?) = ?)) ORDER BY n`;
  const lists = `${target} for `;
  for (const row of queryRows<Row>(database, sql, target, lists.length, lists)) yield personOf(row);
}

/** Those whom a run brought. */
export function* membersOfRun(database: DatabaseSyncInstance, run: string): Generator<OwnedPerson> {
  const sql = `${PEOPLE} WHERE n IN (SELECT person FROM purchase WHERE run = ?) ORDER BY n`;
  for (const row of queryRows<Row>(database, sql, run)) yield personOf(row);
}

/** A field of those with these identities as the service wrote it, by identity; nobody without a text. @param field of the record, no path */
export function textsOf(
  database: DatabaseSyncInstance,
  identities: readonly string[],
  field: string,
): Map<string, string> {
  const rows = database
    .prepare(
      `SELECT identity, body ->> ? AS value FROM person JOIN record ON r = person.record
       WHERE identity IN (SELECT value FROM json_each(?)) AND json_type(body, ?) = 'text'`,
    )
    .all(`$.${field}`, JSON.stringify(identities), `$.${field}`) as { identity: string; value: string }[];
  return new Map(rows.map(({ identity, value }) => [identity, value]));
}

/** The newest records of those with these identities who may be shown, as JSON text. */
export function* recordsNamed(database: DatabaseSyncInstance, identities: readonly string[]): Generator<string> {
  const sql = `SELECT body FROM shown AS person JOIN record ON r = person.record
    WHERE identity IN (SELECT value FROM json_each(?)) ORDER BY n`;
  for (const { body } of queryRows<{ body: string }>(database, sql, JSON.stringify(identities))) yield body;
}

/** Those of these identities of whom a record came after a time that differs from the one before, with the fields that do. */
export function changedAfter(
  database: DatabaseSyncInstance,
  identities: readonly string[],
  at: number,
): Map<string, string[]> {
  const rows = database
    .prepare(
      `SELECT identity, body AS now,
         (SELECT old.body FROM purchase JOIN record AS old ON old.r = purchase.record WHERE purchase.person = n AND at <= ?
          ORDER BY at DESC, run DESC, unit DESC, position DESC LIMIT 1) AS old
       FROM person JOIN record ON record.r = person.record WHERE bought_at > ? AND identity IN (SELECT value FROM json_each(?))`,
    )
    .all(at, at, JSON.stringify(identities)) as { identity: string; now: string; old: string | null }[];
  const found = rows.map(({ identity, now, old }) => {
    const fields = old === null || old === now ? [] : changedFields(fieldsOf(old), fieldsOf(now));
    return [identity, fields] as const;
  });
  return new Map(found.filter(([, fields]) => fields.length > 0));
}

/** Those of these identities who were bought by another run, or imported, up to a time in epoch milliseconds. */
export function boughtBefore(
  database: DatabaseSyncInstance,
  identities: readonly string[],
  run: string,
  at: number,
): Set<string> {
  const sql = `SELECT identity FROM person WHERE identity IN (SELECT value FROM json_each(?))
    AND EXISTS (SELECT 1 FROM purchase WHERE purchase.person = n AND purchase.run <> ? AND at <= ?)`;
  const rows = database.prepare(sql).all(JSON.stringify(identities), run, at) as { identity: string }[];
  return new Set(rows.map(({ identity }) => identity));
}

type Row = Readonly<Record<string, string | number | null>>;

function personOf({ identity, bought_at, version, own_address, ...values }: Row): OwnedPerson {
  return {
    identity: String(identity),
    address: values.network_url_address === null ? undefined : textOf(own_address ?? values.network_url_address),
    name: textOf(values.name),
    values,
    boughtAt: Number(bought_at),
    version: textOf(version) ?? null,
  };
}

const textOf = (value: string | number | null | undefined): string | undefined =>
  value === null || value === undefined ? undefined : String(value);
