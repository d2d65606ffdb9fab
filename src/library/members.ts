import type { DatabaseSyncInstance } from "@photostructure/sqlite";
import { conditionsOf, type SqlDialect, whereSql } from "../contract/conditions.ts";
import type { CanonicalFilters } from "../contract/filters.ts";
import { PERSON_COLUMNS } from "./person.ts";

/** Somebody who is owned, as the newest record says. */
export interface OwnedPerson {
  readonly identity: string;
  /** Canonical profile address, or a bare slug; undefined where the record has none: no filter names such a person for certain. */
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

const COLUMNS = PERSON_COLUMNS.map((column) => `person.${column}`).join(", ");
const PEOPLE = `SELECT identity, bought_at, run.dataset_version AS version, ${COLUMNS} FROM person
  LEFT JOIN run ON run.id = substr(bought_by, 1, instr(bought_by, ' ') - 1)`;

/** Those who match by what was bought. */
export function* membersMatching(
  database: DatabaseSyncInstance,
  filters: CanonicalFilters,
  dialect: SqlDialect,
): Generator<OwnedPerson> {
  const { text, values } = whereSql(conditionsOf(filters), dialect);
  for (const row of database.prepare(`${PEOPLE}${text} ORDER BY n`).iterate(...values)) yield personOf(row as Row);
}

/** Those with these identities; who is not owned any more is left out. */
export function* membersNamed(database: DatabaseSyncInstance, identities: readonly string[]): Generator<OwnedPerson> {
  const sql = `${PEOPLE} WHERE identity IN (SELECT value FROM json_each(?)) ORDER BY n`;
  for (const row of database.prepare(sql).iterate(JSON.stringify(identities))) yield personOf(row as Row);
}

/** Those whom a run brought. */
export function* membersOfRun(database: DatabaseSyncInstance, run: string): Generator<OwnedPerson> {
  const sql = `${PEOPLE} WHERE n IN (SELECT person FROM purchase WHERE run = ?) ORDER BY n`;
  for (const row of database.prepare(sql).iterate(run)) yield personOf(row as Row);
}

type Row = Readonly<Record<string, string | number | null>>;

function personOf({ identity, bought_at, version, ...values }: Row): OwnedPerson {
  return {
    identity: String(identity),
    address: textOf(values.network_url_address ?? values.network_url_slug),
    name: textOf(values.name),
    values,
    boughtAt: Number(bought_at),
    version: textOf(version) ?? null,
  };
}

const textOf = (value: string | number | null | undefined): string | undefined =>
  value === null || value === undefined ? undefined : String(value);
