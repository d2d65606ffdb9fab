import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { FILTER_COLUMNS, NORMAL_COLUMNS, NUMBER_COLUMNS } from "../../contract/conditions.ts";
import { COMPANY_FIELDS, PERSON_FIELDS } from "../../contract/records.ts";
import { COMPANY_COLUMNS, PLACED_COLUMNS, placeOf, ROW_INDEXES, type RowIndex, SORT_KEYS } from "../columns.ts";
import {
  literal,
  machineResources,
  nullsLast,
  type Resources,
  runWatched,
  scalar,
  startDuckDb,
  toNumber,
} from "../duckdb.ts";
import { writeCubes } from "../embedded/cubes.ts";
import { packedSql, RecordWriter } from "../embedded/record-store.ts";
import { type DatasetMeta, FILES, FORMAT, newDraftName, publish, removeUnused, withBuildLock } from "../layout.ts";
import { readSuppression, removeSuppressed, suppressionDir } from "../suppression.ts";
import { addNormalForms } from "./normal-sql.ts";

/** How far a build is: in bytes of the files while reading, else in people. `total` is 0 where it is not known yet. */
export interface BuildProgress {
  /** `copy` is into ClickHouse, after all others. */
  readonly phase: "read" | "sort" | "records" | "lookups" | "copy";
  readonly done: number;
  readonly total: number;
}

export interface BuildOptions {
  readonly datasetDir: string;
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  readonly resources?: Resources;
  readonly onProgress?: (progress: BuildProgress) => void;
  readonly signal?: AbortSignal;
  /** The folder of the list of people who are left out. Default: that of the dataset. */
  readonly suppression?: string;
  /** How many versions that were served before are kept to go back to. Default: {@link KEPT}. */
  readonly keep?: number;
}

/** Versions kept beside the one that is served: a bad import can be taken back. */
export const KEPT = 1;

/** What a build starts from: fills `staged_people` and `staged_companies`, columns as the records. */
export interface Source {
  readonly name: string;
  /** Where the name is known after staging only. */
  readonly nameOf?: () => string;
  readonly version: string;
  readonly stage: (connection: DuckDBConnection, scratch: string) => Promise<void>;
  /** Asked once the lock is held: true where another process has done the work meanwhile. */
  readonly isDone?: () => Promise<boolean>;
}

/** Bytes for each person that is sorted: with less DuckDB's sort fails, spilling or not. More people are sorted in parts. */
const SORT_BYTES = 4_096;

const INTERRUPT_EVERY_MS = 50;

/** Builds a version beside the current one and publishes it at the end, one build at a time. @returns undefined where `isDone` said so */
export async function buildDataset(source: Source, options: BuildOptions): Promise<DatasetMeta | undefined> {
  await mkdir(options.datasetDir, { recursive: true, mode: 0o700 });
  return withBuildLock(
    options.datasetDir,
    options.sleep,
    async () => {
      if (await source.isDone?.()) return undefined;
      await removeUnused(options.datasetDir);
      const draft = join(options.datasetDir, newDraftName());
      await mkdir(draft, { mode: 0o700 });
      try {
        const meta = await writeVersion(source, draft, options);
        options.signal?.throwIfAborted();
        await publish(options.datasetDir, draft, meta, options.keep ?? KEPT);
        await removeUnused(options.datasetDir);
        return meta;
      } catch (error) {
        await rm(draft, { recursive: true, force: true });
        throw error;
      }
    },
    options.signal,
  );
}

async function writeVersion(source: Source, draft: string, options: BuildOptions): Promise<DatasetMeta> {
  const scratch = join(draft, "scratch");
  await mkdir(scratch, { mode: 0o700 });
  const instance = await startDuckDb(options.resources ?? machineResources(), scratch);
  const connection = await instance.connect();
  const interrupts = interruptedBy(connection, options.signal);
  try {
    await connection.run(
      `ATTACH ${literal(join(scratch, "scratch.duckdb"))} AS scratch (STORAGE_VERSION 'latest'); USE scratch`,
    );
    await addNormalForms(connection);
    options.onProgress?.({ phase: "read", done: 0, total: 0 });
    await source.stage(connection, scratch);
    options.signal?.throwIfAborted();
    const companies = toNumber(await scalar(connection, "SELECT count(*) FROM staged_companies"));
    await keyCompanies(connection);
    await linkCompanies(connection);
    await leaveOut(connection, options);
    const people = toNumber(await scalar(connection, "SELECT count(*) FROM staged_people"));
    options.onProgress?.({ phase: "sort", done: 0, total: people });
    await sortPeople(connection, people, options);
    await sortKeys(connection);
    await writeRecords(connection, draft, people, options);
    options.onProgress?.({ phase: "lookups", done: 0, total: people });
    await writeFilterTable(connection, join(draft, FILES.people));
    await writeLookups(connection, draft, people);
    return {
      format: FORMAT,
      version: source.version,
      people,
      companies,
      created_at: new Date(options.now()).toISOString(),
      source: source.nameOf?.() ?? source.name,
    };
  } catch (error) {
    options.signal?.throwIfAborted();
    throw error;
  } finally {
    interrupts.stop();
    instance.closeSync();
    await rm(scratch, { recursive: true, force: true });
  }
}

function interruptedBy(connection: DuckDBConnection, signal: AbortSignal | undefined): { stop(): void } {
  let timer: NodeJS.Timeout | undefined;
  const begin = (): void => {
    connection.interrupt();
    timer = setInterval(() => connection.interrupt(), INTERRUPT_EVERY_MS);
  };
  signal?.addEventListener("abort", begin, { once: true });
  return {
    stop() {
      signal?.removeEventListener("abort", begin);
      clearInterval(timer);
    },
  };
}

async function keyCompanies(connection: DuckDBConnection): Promise<void> {
  await connection.run(`
CREATE TABLE keyed_companies AS
SELECT (row_number() OVER (ORDER BY id) - 1)::UINTEGER AS seq, id, normal_form(name) AS name_key, domain_form(domain) AS domain_key,
  address_form(company_network_url) AS address, slug_of(address_form(company_network_url)) AS slug,
  name, domain, company_network_url, ${packedSql(COMPANY_FIELDS)} AS doc
FROM staged_companies ORDER BY id`);
}

/** What a person of `staged_people` is linked to a company by. */
export const LINK_KEY = `CASE WHEN address_form(company_network_url) IS NOT NULL THEN 'address ' || address_form(company_network_url)
  WHEN domain_form(company_domain) IS NOT NULL THEN 'domain ' || domain_form(company_domain)
  WHEN normal_form(company_name) IS NOT NULL THEN 'name ' || normal_form(company_name) END`;

// By address, by slug where one side is bare, by domain, by a name that only one has; the first by id wins. One join a statement: several
// at once would need memory for all of their tables.
async function linkCompanies(connection: DuckDBConnection): Promise<void> {
  await connection.run(`CREATE TABLE link_keys AS SELECT DISTINCT ${LINK_KEY} AS link_key FROM staged_people`);
  await connection.run("CREATE TABLE links (link_key VARCHAR, seq UINTEGER)");
  const byAddress =
    "SELECT 'address ' || address AS key, min(seq) AS seq FROM keyed_companies WHERE address IS NOT NULL";
  const steps: readonly { readonly key: string; readonly companies: string }[] = [
    { key: "link_key", companies: `${byAddress} GROUP BY 1` },
    {
      key: "CASE WHEN starts_with(link_key, 'address ') AND NOT contains(link_key, '/') THEN link_key END",
      companies:
        "SELECT 'address ' || slug AS key, min(seq) AS seq FROM keyed_companies WHERE slug IS NOT NULL GROUP BY 1",
    },
    {
      key: "CASE WHEN starts_with(link_key, 'address ') AND contains(link_key, '/') THEN 'address ' || slug_of(link_key) END",
      companies: `${byAddress} AND NOT contains(address, '/') GROUP BY 1`,
    },
    {
      key: "link_key",
      companies:
        "SELECT 'domain ' || domain_key AS key, min(seq) AS seq FROM keyed_companies WHERE domain_key IS NOT NULL GROUP BY 1",
    },
    {
      key: "link_key",
      companies:
        "SELECT 'name ' || name_key AS key, min(seq) AS seq FROM keyed_companies WHERE name_key IS NOT NULL GROUP BY 1 HAVING count(*) = 1",
    },
  ];
  for (const { key, companies } of steps) {
    await connection.run(`CREATE TABLE found AS SELECT l.link_key, c.seq
      FROM (SELECT link_key, ${key} AS wanted FROM link_keys WHERE link_key IS NOT NULL) l JOIN (${companies}) c ON c.key = l.wanted`);
    await connection.run("INSERT INTO links SELECT * FROM found ANTI JOIN links USING (link_key)");
    await connection.run("DROP TABLE found");
  }
  await connection.run(`CREATE TABLE company_of AS
    SELECT l.link_key, k.seq, k.name, k.domain, k.company_network_url, k.address FROM links l JOIN keyed_companies k USING (seq)`);
  await connection.run("DROP TABLE link_keys; DROP TABLE links");
}

/** Takes the suppressed out, whatever they come from. By domain once it is known which company each person works for. */
async function leaveOut(connection: DuckDBConnection, { datasetDir, suppression }: BuildOptions): Promise<void> {
  const list = await readSuppression(suppression ?? suppressionDir(datasetDir));
  const rows = `SELECT s.id, s.network_url, coalesce(s.company_domain, k.domain)
    FROM (SELECT *, ${LINK_KEY} AS link_key FROM staged_people) s LEFT JOIN company_of k ON k.link_key = s.link_key`;
  await removeSuppressed(connection, "staged_people", rows, list);
}

/** People in public order. What a record lacks of its company is filled in, so that a count of the address finds its employees. */
async function sortPeople(connection: DuckDBConnection, people: number, options: BuildOptions): Promise<void> {
  const filled: Readonly<Record<string, string>> = {
    company_name: "coalesce(s.company_name, k.name)",
    company_domain: "coalesce(s.company_domain, k.domain)",
    company_network_url:
      "CASE WHEN s.company_address IS NULL OR (NOT contains(s.company_address, '/') AND k.company_network_url IS NOT NULL) THEN coalesce(k.company_network_url, s.company_network_url) ELSE s.company_network_url END",
  };
  const rows = `
WITH addressed AS (
  SELECT *, address_form(company_network_url) AS company_address, ${LINK_KEY} AS link_key FROM staged_people
), normal AS (
  SELECT ${NORMAL_COLUMNS.map((column) => `normal_form(s.${column}) AS ${column}`).join(", ")},
    s.department, ${NUMBER_COLUMNS.map((column) => `s.${column}`).join(", ")}, s.id, address_form(s.network_url) AS address, k.seq AS company,
    CASE WHEN s.company_address IS NULL OR NOT contains(s.company_address, '/')
      THEN coalesce(k.address, s.company_address) ELSE s.company_address END AS company_address,
    ${packedSql(PERSON_FIELDS, (field) => filled[field] ?? `s.${field}`)} AS doc
  FROM addressed s LEFT JOIN company_of k ON k.link_key = s.link_key
)
SELECT * FROM normal`;
  const order = `ORDER BY ${nullsLast([...SORT_KEYS, "id"])}`;
  const watched = (sql: string, from: number, to: number): Promise<void> =>
    runWatched(connection, sql, options.sleep, (part) =>
      options.onProgress?.({ phase: "sort", done: Math.floor(from + part * (to - from)), total: people }),
    );
  const { memoryBytes } = options.resources ?? machineResources();
  const most = Math.floor(memoryBytes / SORT_BYTES);
  if (people <= most) {
    await watched(`CREATE TABLE sorted_people AS ${rows} ${order}`, 0, people);
    await connection.run("DROP TABLE staged_people");
    return;
  }
  await watched(`CREATE TABLE unsorted_people AS ${rows}`, 0, people / 2);
  await connection.run("DROP TABLE staged_people");
  await connection.run("CREATE TABLE sorted_people AS SELECT * FROM unsorted_people LIMIT 0");
  const lead = SORT_KEYS.slice(0, 3);
  await connection.run(`CREATE TABLE parts AS
    SELECT ${lead.join(", ")}, ((sum(n) OVER (ORDER BY ${nullsLast(lead)}) - n) // ${most})::INTEGER AS part
    FROM (SELECT ${lead.join(", ")}, count(*) AS n FROM unsorted_people GROUP BY ALL)`);
  const found = await connection.runAndReadAll("SELECT DISTINCT part FROM parts ORDER BY part");
  const parts = found.getRowsJS().map(([part]) => toNumber(part));
  const same = lead.map((key) => `u.${key} IS NOT DISTINCT FROM p.${key}`).join(" AND ");
  // A part is found by reading all people. So people are first divided into groups of parts, as many as a group has parts: each is read
  // twice the square root of the number of parts instead of that number of times.
  const perGroup = Math.ceil(Math.sqrt(parts.length));
  for (let start = 0; start < parts.length; start += perGroup) {
    const group = parts.slice(start, start + perGroup);
    await connection.run(`CREATE TABLE group_people AS SELECT u.*, p.part FROM unsorted_people u JOIN parts p ON ${same}
      WHERE p.part BETWEEN ${group[0]} AND ${group.at(-1)}`);
    for (const [index, part] of group.entries()) {
      options.signal?.throwIfAborted();
      const half = people / 2;
      await watched(
        `INSERT INTO sorted_people SELECT * EXCLUDE (part) FROM group_people WHERE part = ${part} ${order}`,
        half + ((start + index) * half) / parts.length,
        half + ((start + index + 1) * half) / parts.length,
      );
    }
    await connection.run("DROP TABLE group_people");
  }
  await connection.run("DROP TABLE unsorted_people; DROP TABLE parts");
}

/** Slug first, with what comes before it behind a character that it cannot hold: a bare slug is then a range of keys. */
const ADDRESS_KEY = "concat(slug_of(address), '/', left(address, length(address) - length(slug_of(address))))";
const KEYS: Readonly<Record<RowIndex, string>> = { name: "name", headline: "headline", address: ADDRESS_KEY };

/** What the row store has indexes of, each in the order of its index. */
async function sortKeys(connection: DuckDBConnection): Promise<void> {
  for (const kind of ROW_INDEXES) {
    await connection.run(`CREATE TABLE by_${kind} AS
      SELECT ${KEYS[kind]} AS key, rowid::UINTEGER AS rid FROM sorted_people WHERE ${kind} IS NOT NULL ORDER BY key, rid`);
  }
}

async function writeRecords(
  connection: DuckDBConnection,
  draft: string,
  people: number,
  options: BuildOptions,
): Promise<void> {
  const writer = new RecordWriter(draft);
  try {
    const companies = await connection.stream(
      "SELECT id, name_key, domain_key, address, slug, doc FROM keyed_companies ORDER BY seq",
    );
    for await (const chunk of companies) {
      for (const [id, name, domain, address, slug, doc] of chunk.getRows()) {
        writer.addCompany({
          id: String(id),
          name: textOrNull(name),
          domain: textOrNull(domain),
          address: textOrNull(address),
          slug: textOrNull(slug),
          doc: String(doc),
        });
      }
    }
    let done = 0;
    const records = await connection.stream("SELECT doc FROM sorted_people");
    for await (const chunk of records) {
      const docs = chunk.getColumnVector(0);
      for (let row = 0; row < chunk.rowCount; row++) writer.addPerson(String(docs.getItem(row)));
      done += chunk.rowCount;
      options.signal?.throwIfAborted();
      options.onProgress?.({ phase: "records", done, total: people });
    }
    if (done !== people) throw new Error(`sorted ${done} of ${people} people`);
    for (const kind of ROW_INDEXES) {
      const sorted = await connection.stream(`SELECT key, rid FROM by_${kind}`);
      for await (const chunk of sorted) {
        const keys = chunk.getColumnVector(0);
        const rids = chunk.getColumnVector(1);
        for (let row = 0; row < chunk.rowCount; row++)
          writer.addKey(kind, String(keys.getItem(row)), Number(rids.getItem(row)));
        options.signal?.throwIfAborted();
      }
    }
    writer.finish();
  } catch (error) {
    writer.abandon();
    throw error;
  }
}

const textOrNull = (value: unknown): string | null => (typeof value === "string" ? value : null);

async function writeFilterTable(connection: DuckDBConnection, path: string): Promise<void> {
  await connection.run(`ATTACH ${literal(path)} AS filters (STORAGE_VERSION 'latest')`);
  const columns = FILTER_COLUMNS.map((column) => `p.${column}`).join(", ");
  const places = PLACED_COLUMNS.map((column) => `${column}.rowid::UINTEGER AS ${placeOf(column)}`).join(", ");
  const joins = PLACED_COLUMNS.map((column) => `LEFT JOIN by_${column} AS ${column} ON ${column}.rid = p.rowid`).join(
    " ",
  );
  await connection.run(`CREATE TABLE filters.people AS
    SELECT p.rowid::UINTEGER AS rid, ${columns}, ${places} FROM sorted_people AS p ${joins} ORDER BY p.rowid`);
  await connection.run("CHECKPOINT filters; DETACH filters");
  for (const kind of ROW_INDEXES) await connection.run(`DROP TABLE by_${kind}`);
}

async function writeLookups(connection: DuckDBConnection, draft: string, people: number): Promise<void> {
  await connection.run(
    `ATTACH ${literal(join(draft, FILES.lookups))} AS lookups (STORAGE_VERSION 'latest', ROW_GROUP_SIZE 16384)`,
  );
  const tables = {
    by_company: `slug_of(company_address) AS key, company_address AS address, rowid::UINTEGER AS rid, ${COMPANY_COLUMNS.join(", ")}
      FROM sorted_people WHERE company_address IS NOT NULL`,
    by_employer: "company AS key, rowid::UINTEGER AS rid FROM sorted_people WHERE company IS NOT NULL",
  };
  for (const [name, query] of Object.entries(tables)) {
    await connection.run(`CREATE TABLE lookups.${name} AS SELECT ${query} ORDER BY key, rid`);
  }
  await writeCubes(connection, "sorted_people", people, join(draft, FILES.counts));
  await connection.run("CHECKPOINT lookups; DETACH lookups");
}
