import { mkdir, rm, stat } from "node:fs/promises";
import type { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { NUMBER_COLUMNS } from "../../../contract/conditions.ts";
import { COMPANY_FIELDS, PERSON_FIELDS } from "../../../contract/records.ts";
import type { Suppression } from "../../../contract/suppression.ts";
import { type BuildOptions, interruptedBy } from "../../build/build.ts";
import type { ImportInput } from "../../build/import.ts";
import { type ImportKind, type ImportMap, usableOf } from "../../build/import-map.ts";
import { createRaw, type FilePlan, planFiles, refusedOf, type Staging, stageFile } from "../../build/import-stage.ts";
import { clearedReport, departmentReport, typedSql } from "../../build/import-values.ts";
import { LINK_KEY } from "../../build/link-companies.ts";
import { addNormalForms } from "../../build/normal-sql.ts";
import { RejectFile } from "../../build/rejects.ts";
import { literal, machineResources, startDuckDb } from "../../duckdb.ts";
import { FORMS } from "./stage.ts";
import type { PartReport } from "./state.ts";

/** A file of people or companies: what is read, sent and done again as one. */
export interface Part {
  readonly number: number;
  readonly kind: ImportKind;
  /** Its place among the files of its kind. */
  readonly index: number;
  readonly plan: FilePlan;
}

export interface PartReaderOptions {
  readonly input: ImportInput;
  readonly map: ImportMap;
  /** For files of a part at a time; made, and removed at the end. */
  readonly scratch: string;
  readonly suppression: Suppression;
  readonly build: BuildOptions;
}

const ALL_VALUES = 1_000_000;

/** Reads files one after another by the rules of every import, and writes what is taken as lines for ClickHouse. */
export class PartReader {
  readonly #options: PartReaderOptions;
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;
  readonly #interrupts: { stop(): void };
  #files: Readonly<Record<ImportKind, readonly FilePlan[]>> = { people: [], companies: [] };

  private constructor(options: PartReaderOptions, instance: DuckDBInstance, connection: DuckDBConnection) {
    this.#options = options;
    this.#instance = instance;
    this.#connection = connection;
    this.#interrupts = interruptedBy([connection], options.build.signal ?? new AbortController().signal);
  }

  static async open(options: PartReaderOptions): Promise<PartReader> {
    const { scratch } = options;
    await rm(scratch, { recursive: true, force: true });
    await mkdir(scratch, { recursive: true, mode: 0o700 });
    const instance = await startDuckDb(options.build.resources ?? machineResources(), scratch);
    const connection = await instance.connect();
    await addNormalForms(connection);
    await connection.run(`CREATE OR REPLACE TEMP MACRO line_text(x) AS CASE
      WHEN contains(x, '\\') OR contains(x, chr(9)) OR contains(x, chr(10))
        THEN replace(replace(replace(x, '\\', '\\\\'), chr(9), '\\t'), chr(10), '\\n')
      ELSE coalesce(x, '') END`);
    return new PartReader(options, instance, connection);
  }

  /** All files, in the order of their rows. @throws InputError */
  async plan(): Promise<Part[]> {
    const { people, companies, cwd } = this.#options.input;
    const staging = this.#staging(undefined, cwd);
    this.#files = {
      people: await planFiles(staging, "people", people),
      companies: await planFiles(staging, "companies", companies),
    };
    const all = (["people", "companies"] as const).flatMap((kind) =>
      this.#files[kind].map((plan, index) => ({ kind, index, plan })),
    );
    return all.map((part, number) => ({ number, ...part }));
  }

  /**
   * Reads a part. @param twins a file of `line,file,line` of rows whose id an earlier row has, where that is known
   * @param lines where the lines of what is taken go; none are written where it is undefined
   */
  async read(
    part: Part,
    places: { readonly rejects: string; readonly twins?: string; readonly lines?: string },
    onBytes: (done: number) => void,
  ): Promise<PartReport> {
    const { kind, index, plan } = part;
    const connection = this.#connection;
    const rejects = await RejectFile.at(places.rejects, this.#options.scratch, [], true);
    const staging = this.#staging(rejects, this.#options.input.cwd);
    await connection.run(
      "DROP VIEW IF EXISTS typed; DROP TABLE IF EXISTS raw_people; DROP TABLE IF EXISTS raw_companies",
    );
    await createRaw(connection, kind);
    try {
      const file = await stageFile(staging, kind, plan, index, onBytes);
      if (places.twins !== undefined) await this.#markTwins(kind, places.twins);
      const counted = await refusedOf(staging, kind, this.#files[kind], file.rows);
      await rejects.finish();
      const report = {
        ...counted,
        file,
        departments:
          kind === "people" ? await departmentReport(connection, ALL_VALUES) : { unknown: 0, missing: 0, examples: [] },
        cleared: await clearedReport(connection, kind, ALL_VALUES),
      };
      await connection.run(`CREATE VIEW typed AS ${typedSql(kind, FURTHER[kind])}`);
      const hiddenDomains = await this.#hide(kind);
      if (places.lines !== undefined) await this.#writeLines(part, places.lines);
      return { ...report, hiddenDomains, sent: counted.taken };
    } catch (error) {
      await rejects.abandon();
      throw error;
    }
  }

  async close(): Promise<void> {
    this.#interrupts.stop();
    this.#instance.closeSync();
    await rm(this.#options.scratch, { recursive: true, force: true });
  }

  #staging(rejects: RejectFile | undefined, cwd: string): Staging {
    const { map, scratch, input, build } = this.#options;
    // Nothing is refused while headers are read.
    return {
      connection: this.#connection,
      map,
      scratch,
      cwd,
      text: input,
      rejects: rejects as RejectFile,
      options: build,
    };
  }

  async #markTwins(kind: ImportKind, path: string): Promise<void> {
    if ((await stat(path).catch(() => undefined)) === undefined) return;
    await this.#connection.run(`UPDATE raw_${kind} SET reason = 'duplicate_id', detail = concat(t.file, ' ', t.first)
      FROM read_csv(${literal(path)}, header = false, auto_detect = false, delim = ',',
        columns = {'line': 'BIGINT', 'file': 'INTEGER', 'first': 'BIGINT'}) AS t WHERE raw_${kind}.line = t.line`);
  }

  /** Marks whom the suppression list names. @returns the domains that it names, as JSON */
  async #hide(kind: ImportKind): Promise<string[]> {
    const connection = this.#connection;
    await connection.run("CREATE OR REPLACE TABLE hidden (line BIGINT)");
    const { suppression } = this.#options;
    if (suppression.isEmpty) return [];
    const domain = kind === "people" ? "company_domain" : "domain";
    const found = await connection.runAndReadAll(
      `SELECT DISTINCT ${domain}, ${json(domain)} FROM typed WHERE ${domain} IS NOT NULL`,
    );
    const domains = found.getRowsJS().filter(([name]) => suppression.hides({ domain: String(name) }));
    if (kind === "people") {
      const lines: string[] = [];
      const text = (value: unknown): string | undefined => (value === null ? undefined : String(value));
      const result = await connection.stream("SELECT line, id, network_url, company_domain FROM typed");
      for await (const chunk of result) {
        for (const [line, id, address, employer] of chunk.getRows()) {
          if (suppression.hides({ id: text(id), address: text(address), domain: text(employer) })) {
            lines.push(String(line));
          }
        }
      }
      if (lines.length > 0) {
        await connection.run(`INSERT INTO hidden SELECT unnest(from_json(?, '["BIGINT"]'))`, [`[${lines.join(",")}]`]);
      }
    }
    return domains.map(([, text]) => String(text));
  }

  async #writeLines({ number, kind }: Part, path: string): Promise<void> {
    const columns = kind === "people" ? PEOPLE_LINE : COMPANY_LINE;
    const texts = columns.map((column) => `line_text(${column})`);
    const numbers = kind === "people" ? NUMBER_COLUMNS.map((column) => `coalesce(${column}::VARCHAR, '\\N')`) : [];
    const cells = [
      `'${number}'`,
      "line::VARCHAR",
      ...(kind === "people" ? ["CASE WHEN line IN (SELECT line FROM hidden) THEN '1' ELSE '0' END"] : []),
      ...texts.slice(0, kind === "people" ? PEOPLE_TEXTS : undefined),
      ...numbers,
      ...(kind === "people" ? texts.slice(PEOPLE_TEXTS) : []),
    ];
    // One column, so that nothing is quoted: what needs an escape has it already.
    await this.#connection.run(`COPY (SELECT concat_ws(chr(9), ${cells.join(", ")}) FROM (${LINES[kind]}))
      TO ${literal(path)} (FORMAT csv, HEADER false, DELIMITER '\\x01', QUOTE '', ESCAPE '')`);
  }
}

const json = (field: string): string => `coalesce(to_json(${field})::VARCHAR, 'null')`;
const jsonFields = (fields: readonly string[]): string =>
  fields.map((field) => `'"${field}":', ${json(field)}`).join(", ',', ");

const EMPLOYER_JSON = ["company_name", "company_domain", "company_network_url"] as const;
const employerAt = PERSON_FIELDS.indexOf(EMPLOYER_JSON[0]);
const HEAD = PERSON_FIELDS.slice(0, employerAt);
const TAIL = PERSON_FIELDS.slice(employerAt + EMPLOYER_JSON.length);

const PEOPLE_LINE = [
  ...["id", ...FORMS, "network_address", "network_slug"],
  ...[
    "link_key",
    "company_plain",
    "company_domain",
    "company_domain_key",
    "head",
    ...EMPLOYER_JSON.map((field) => `${field}_json`),
    "tail",
  ],
];
const PEOPLE_TEXTS = FORMS.length + 3;
const COMPANY_LINE = [
  ...["id", "name_key", "domain_key", "address", "slug", "name_json", "domain_json", "url_json", "record"],
];

/** What is known of a raw row beside the fields of its record. */
const FURTHER: Readonly<Record<ImportKind, readonly string[]>> = {
  people: [
    ...["line", `${usableOf("network_url")} AS address`],
    `${usableOf("company_network_url")} AS company_address`,
  ],
  companies: ["line", `${usableOf("company_network_url")} AS address`],
};

/** The line of each row, as `STAGED` says. What the record says of an employer is apart: what it lacks is filled in later. */
const LINES: Readonly<Record<ImportKind, string>> = {
  people: `SELECT *, slug_of(network_address) AS network_slug FROM (SELECT line, id,
      ${FORMS.map((field) => `${field === "department" ? field : `normal_form(${field})`} AS ${field}`).join(", ")},
      address AS network_address, ${NUMBER_COLUMNS.join(", ")}, ${LINK_KEY} AS link_key,
      normal_form(company_name) AS company_plain, company_domain, domain_form(company_domain) AS company_domain_key, concat('{', ${jsonFields(HEAD)}, ',"${EMPLOYER_JSON[0]}":') AS head,
      ${EMPLOYER_JSON.map((field) => `${json(field)} AS ${field}_json`).join(", ")},
      concat(',', ${jsonFields(TAIL)}, '}') AS tail FROM typed)`,
  companies: `SELECT *, slug_of(address) AS slug FROM (SELECT line, id, normal_form(name) AS name_key, domain_form(domain) AS domain_key,
      address, ${json("name")} AS name_json, ${json("domain")} AS domain_json,
      ${json("company_network_url")} AS url_json, concat('{', ${jsonFields(COMPANY_FIELDS)}, '}') AS record FROM typed)`,
};
