import { mkdir, rm, stat } from "node:fs/promises";
import type { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import type { Suppression } from "../../../shared/contract/suppression.ts";
import { interruptedBy } from "../../build/build.ts";
import type { ImportInput } from "../../build/import.ts";
import type { ImportKind, ImportMap } from "../../build/import-map.ts";
import {
  createRaw,
  type FilePlan,
  planFiles,
  refusedOf,
  type Staging,
  stageFile,
} from "../../build/import-stage.ts";
import { clearedReport, departmentReport, typedSql } from "../../build/import-values.ts";
import { addNormalForms } from "../../build/normal-sql.ts";
import type { BuildOptions } from "../../build/options.ts";
import { type RejectFile, rejectFileAt } from "../../build/rejects.ts";
import { literal, machineResources, startDuckDb } from "../../duckdb.ts";
import type { ServerDialect } from "../dialect.ts";
import { FURTHER, jsonSql, writeRows } from "./rows.ts";
import type { PartReport } from "./state.ts";

export interface LoadPart {
  readonly number: number;
  readonly kind: ImportKind;
  readonly index: number;
  readonly plan: FilePlan;
}

export interface PartReaderOptions {
  readonly input: ImportInput;
  readonly map: ImportMap;
  readonly scratch: string;
  readonly suppression: Suppression;
  readonly format: ServerDialect["rows"];
  readonly build: BuildOptions;
}

const ALL_VALUES = 1_000_000;

/**
 * Reads files one after another by the rules of every
 * import, and writes what is taken as rows for ClickHouse.
 */
export class PartReader {
  readonly #options: PartReaderOptions;
  readonly #instance: DuckDBInstance;
  readonly #connection: DuckDBConnection;
  readonly #interrupts: { stop(): void };
  #files: Readonly<Record<ImportKind, readonly FilePlan[]>> = { people: [], companies: [] };

  private constructor(
    options: PartReaderOptions,
    instance: DuckDBInstance,
    connection: DuckDBConnection,
  ) {
    this.#options = options;
    this.#instance = instance;
    this.#connection = connection;
    this.#interrupts = interruptedBy(
      [connection],
      options.build.signal ?? new AbortController().signal,
    );
  }

  static async open(options: PartReaderOptions): Promise<PartReader> {
    const { scratch } = options;
    await rm(scratch, { recursive: true, force: true });
    await mkdir(scratch, { recursive: true, mode: 0o700 });
    const instance = await startDuckDb(options.build.resources ?? machineResources(), scratch);
    const connection = await instance.connect();
    await addNormalForms(connection);
    return new PartReader(options, instance, connection);
  }

  async plan(): Promise<LoadPart[]> {
    const { people, companies } = this.#options.input;
    const staging = this.#staging(undefined);
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
   * `twins` is a file of `line,file,line` of rows whose id
   * an earlier row has, `rows` a folder for what is taken.
   */
  async read(
    part: LoadPart,
    places: { readonly rejects: string; readonly twins?: string; readonly rows?: string },
    onBytes: (done: number) => void,
  ): Promise<PartReport> {
    const { kind, index, plan } = part;
    const connection = this.#connection;
    const rejects = await rejectFileAt(places.rejects, this.#options.scratch, []);
    const staging = this.#staging(rejects);

    await connection.run(
      "DROP VIEW IF EXISTS typed; DROP TABLE IF EXISTS raw_people; " +
        "DROP TABLE IF EXISTS raw_companies",
    );
    await createRaw(connection, kind);

    try {
      const file = await stageFile(staging, plan, { kind, index, onBytes });
      if (places.twins !== undefined) await this.#markTwins(kind, places.twins);

      const counted = await refusedOf(staging, kind, this.#files[kind], file.rows);
      await rejects.finish();

      const report = {
        ...counted,
        file,
        departments:
          kind === "people"
            ? await departmentReport(connection, ALL_VALUES)
            : { unknown: 0, missing: 0, examples: [] },
        cleared: await clearedReport(connection, kind, ALL_VALUES),
      };

      await connection.run(
        `CREATE VIEW typed AS ${typedSql(kind, FURTHER[kind])} WHERE reason IS NULL`,
      );

      const hiddenDomains = await this.#hide(kind);

      if (places.rows !== undefined)
        await writeRows(connection, part, this.#options.format, places.rows);

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

  /** @param rejects undefined while headers are read: nothing is refused then */
  #staging(rejects: RejectFile | undefined): Staging {
    const { map, scratch, input, build: options } = this.#options;
    const [connection, { cwd }] = [this.#connection, input];
    return { connection, map, scratch, cwd, text: input, rejects: rejects as RejectFile, options };
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
    const reader = await connection.runAndReadAll(
      `SELECT DISTINCT ${domain}, ${jsonSql(domain)} FROM typed WHERE ${domain} IS NOT NULL`,
    );
    const domains = reader
      .getRowsJS()
      .filter(([name]) => suppression.hides({ domain: String(name) }));

    if (kind === "people") {
      const lines: string[] = [];
      const text = (value: unknown): string | undefined =>
        value === null ? undefined : String(value);
      const result = await connection.stream(
        "SELECT line, id, network_url, company_domain FROM typed",
      );

      for await (const chunk of result) {
        for (const [line, id, address, employer] of chunk.getRows()) {
          if (suppression.hides({ id: text(id), address: text(address), domain: text(employer) })) {
            lines.push(String(line));
          }
        }
      }

      if (lines.length > 0) {
        await connection.run(`INSERT INTO hidden SELECT unnest(from_json(?, '["BIGINT"]'))`, [
          `[${lines.join(",")}]`,
        ]);
      }
    }

    return domains.map(([, text]) => String(text));
  }
}
