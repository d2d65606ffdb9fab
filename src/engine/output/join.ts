// Tested by test/cli/keep-input.test.ts.
import { canonicalAddress } from "../../shared/contract/naming/address.ts";
import { companyForm } from "../../shared/contract/naming/read.ts";
import { covers } from "../../shared/contract/naming/slug.ts";
import { echo, grouped } from "../../shared/contract/text.ts";
import { collectColumns, eachCell } from "../../shared/rows/columns.ts";
import { guarded, guardOf } from "../../shared/rows/csv-text.ts";
import { Page } from "../../shared/rows/page.ts";
import {
  cellOf,
  fieldValue,
  type JsonRecord,
  type JsonValue,
  stringifyExact,
} from "../../shared/rows/values.ts";
import { settledUnits, type Unit } from "../runs/journal.ts";
import type { Prospect, Target } from "../runs/plan.ts";
import type { RunReader } from "../runs/reader.ts";
import { distinctPages, kindOf, shown } from "./distinct.ts";
import type { Format, Output, Rendering, Written } from "./formats.ts";
import { type Join, type JoinRow, MATCHES, type Match } from "./kept-rows.ts";

type CompanyQuery = Exclude<Target, { kind: "search" }>["companies"][number];

export const JOINED: readonly Format[] = [
  "csv",
  "tsv",
  "ndjson",
  "json",
  "xlsx",
  "parquet",
  "table",
];

interface Answer {
  readonly match: Match;
  readonly why: string;
  readonly record?: JsonRecord;
}

const GROUP = 500;
const AS_JSON: readonly Format[] = ["ndjson", "json"];

export interface JoinView {
  readonly join: Join;
  readonly rendering: Rendering;
  readonly open: (rendering: Rendering) => Promise<Output>;
}

/** Nothing is written before all answers are there. */
export class JoinOutput implements Output {
  readonly #run: RunReader;
  readonly #view: JoinView;
  readonly #tally = new Map<Match, number>();
  #settled: ReadonlyMap<number, Unit> = new Map();
  #inner: Output | undefined;

  constructor(run: RunReader, view: JoinView) {
    this.#run = run;
    this.#view = view;
  }

  async write(): Promise<void> {}

  get notices(): readonly string[] {
    const { rows } = this.#view.join;
    const parts = MATCHES.flatMap((match) => {
      const count = this.#tally.get(match) ?? 0;
      return count === 0 ? [] : [`${grouped(count)} ${match}`];
    });
    return [
      ...(this.#inner?.notices ?? []),
      `${grouped(rows.length)} ${rows.length === 1 ? "row" : "rows"}: ${parts.join(", ")}`,
    ];
  }

  async prepare(): Promise<Written | undefined> {
    const { rendering, join } = this.#view;
    this.#settled = new Map(
      settledUnits(this.#run.state).map((unit) => [unit.intent.target, unit]),
    );

    const ours =
      rendering.fields ?? (await collectColumns(distinctPages(this.#run), kindOf(this.#run)));
    const pages = (): AsyncGenerator<Page> => this.#pages(ours);
    const added = ["match", "why", ...ours].map((name) => join.prefix + name);

    // As JSON every token of the caller's stays as it was; elsewhere the columns are all known.
    const fields = AS_JSON.includes(rendering.format) ? undefined : [...join.columns, ...added];
    const inner = await this.#view.open({ ...rendering, fields, raw: true });
    this.#inner = inner;
    for await (const page of pages()) await inner.write(page);
    this.#tally.clear();

    for (const row of join.rows) {
      const [answer] = this.#answers(row);
      if (answer !== undefined)
        this.#tally.set(answer.match, (this.#tally.get(answer.match) ?? 0) + 1);
    }

    return inner.prepare(pages);
  }

  async publish(): Promise<void> {
    await this.#inner?.publish();
  }

  async abort(): Promise<void> {
    await this.#inner?.abort();
  }

  async *#pages(ours: readonly string[]): AsyncGenerator<Page> {
    const { rows } = this.#view.join;
    for (let at = 0; at < rows.length; at += GROUP) {
      const group = rows.slice(at, at + GROUP);
      const texts = group.flatMap((row) =>
        this.#answers(row).map((answer) => this.#joined(row.body, answer, ours)),
      );
      yield Page.read(Buffer.from(`[${texts.join(",")}]`), kindOf(this.#run));
    }
  }

  #joined(body: string, { match, why, record }: Answer, ours: readonly string[]): string {
    const { join, rendering } = this.#view;
    const cells = record && cellsOf(record);
    const values = ours.map((field): JsonValue => {
      const value = record && (cells?.get(field) ?? fieldValue(record, field));
      return value ?? null;
    });

    const pairs = [match, why, ...values].map((value, index) => {
      const name = join.prefix + (["match", "why"][index] ?? ours[index - 2] ?? "");
      return `${JSON.stringify(name)}:${stringifyExact(this.#guarded(value, rendering))}`;
    });
    return `${body}${body.endsWith("{") ? "" : ","}${pairs.join(",")}}`;
  }

  /**
   * What comes from the service is guarded against formulas
   * in CSV; the caller's own cells are the caller's.
   */
  #guarded(value: JsonValue, { format, excel, raw }: Rendering): JsonValue {
    if (format !== "csv" && format !== "tsv") return value;
    const cell = cellOf(value);
    return typeof cell === "string" ? guarded(cell, guardOf({ excel, raw })) : cell;
  }

  /** One for each person of a row's company, and one at least. */
  #answers(row: JoinRow): readonly Answer[] {
    const { target } = this.#run.plan;
    const prospects = target.kind === "search" ? target.staff?.prospects : undefined;
    if (prospects === undefined) return [this.#answer(row)];
    const prospect = row.company === undefined ? undefined : prospects[row.company];
    return prospect === undefined ? [row] : this.#peopleAt(prospect);
  }

  #peopleAt({
    by,
    value,
    address = by === "company_network_url" ? value : undefined,
    why = "",
  }: Prospect): Answer[] {
    if (address === undefined) return [{ match: "not found", why }];

    const { target, parts = [] } = this.#run.plan;
    const theirs = parts.flatMap(({ company_network_url: of }, n) =>
      covers(canonicalAddress(String(of)) ?? "", canonicalAddress(address) ?? "") ? [n] : [],
    );
    if (theirs.length === 0) {
      const isNew = target.kind === "search" && target.owned !== undefined;
      return [{ match: "nobody", why: isNew ? "nobody there is new" : "nobody there matches" }];
    }

    const units = [...this.#run.state.units.values()].filter(({ intent }) =>
      theirs.includes(intent.target),
    );
    const answers = units.flatMap((unit): Answer[] => {
      if (unit.settled?.follows === undefined) return [];

      const page = shown(
        Page.read(this.#run.readReply(unit), "person"),
        "person",
        this.#run.suppression,
      );
      const owned = unit.settled.owned === undefined ? "" : "owned already";

      return page.indexes.map((n) => ({
        match: "found",
        why: owned,
        record: page.row(n),
      }));
    });
    if (answers.length > 0) return answers;

    const isHidden = units.some(({ settled }) => (settled?.rows ?? 0) > 0);
    if (isHidden) return [{ match: "suppressed", why: "on the suppression list" }];

    return [{ match: "not asked", why: "the run ended before its turn" }];
  }

  #answer(row: JoinRow): Answer {
    const { target } = this.#run.plan;
    const query =
      row.company === undefined || target.kind === "search"
        ? undefined
        : target.companies[row.company];
    if (query === undefined) return row;

    const unit = this.#settled.get(row.company ?? -1);
    if (unit?.settled === undefined)
      return { match: "not asked", why: "the run ended before its turn" };

    const { refused } = unit.settled;
    if (refused !== undefined) return { match: "not found", why: `refused: ${refused}` };

    const page =
      unit.settled.follows === undefined
        ? Page.empty
        : Page.read(this.#run.readReply(unit), "company");
    if (page.length === 0) return { match: "not found", why: "the service does not know it" };
    if (shown(page, "company", this.#run.suppression).length === 0)
      return { match: "suppressed", why: "it is on the suppression list" };

    const record = page.row(0);
    const other = otherThan(query, record);
    return other === undefined
      ? { match: "found", why: "", record }
      : { match: "ambiguous", why: other, record };
  }
}

function cellsOf(record: JsonRecord): ReadonlyMap<string, JsonValue> {
  const cells = new Map<string, JsonValue>();
  eachCell(record, (column, value) => cells.set(column, value));
  return cells;
}

/** In words; undefined: nothing says so. */
export function otherThan({ by, value }: CompanyQuery, record: JsonRecord): string | undefined {
  const answer = fieldValue(record, by);
  if (typeof answer !== "string" && typeof answer !== "number") return undefined;
  const [asked, answered] = [value, String(answer)].map((text) => companyForm({ by, value: text }));
  if (asked === undefined || answered === undefined || asked === answered) return undefined;

  const within = (inner: string, outer: string): boolean =>
    by === "domain" ? inner.endsWith(`.${outer}`) : covers(outer, inner);
  if (by !== "name" && (within(asked, answered) || within(answered, asked))) return undefined;
  return `asked for ${echo(value)}, and the service answers with ${echo(answer)}`;
}
