import { flagsOf } from "../../shared/contract/command-line.ts";
import { credits, creditsToNumber } from "../../shared/contract/money.ts";
import { counted, grouped, someOf } from "../../shared/contract/text.ts";
import type { Filters } from "../../shared/contract/vocabulary.ts";
import {
  atConnection,
  CliError,
  clauses,
  command,
  type Option,
  type OwnCommand,
  option,
  type Raise,
  say,
} from "../../shared/errors.ts";
import type { CompanyQuery, Dialect } from "../client/dialect.ts";
import type { Machine } from "./machine.ts";
import type { Division } from "./record.ts";

type RunCommand = "search" | "employees" | "enrich";

export interface Sampling {
  readonly rows: number;
  readonly seed: number | null;
  /** Rows that are drawn together; null: as few as the rate limit affords. */
  readonly together: number | null;
}

export interface Keep {
  readonly sha256: string;
  readonly column: string | null;
  readonly by: "name" | "id" | null;
  readonly prefix: string;
  /** Hosts that its addresses were read as networks by. */
  readonly networks?: readonly string[];
}

/**
 * A company with its profile address; without one nobody
 * there is found, and `why` says why where that is known.
 */
export interface Prospect extends CompanyQuery {
  readonly address?: string | undefined;
  readonly why?: string | undefined;
}

export type Target =
  | {
      readonly kind: "search";
      readonly filters: Filters;
      readonly canonical: string;
      /** Several segments, each person of which is bought once. */
      readonly union?: readonly Filters[];
      /**
       * Each segment is of one company, and they share
       * nobody; `most`: people of each company, null for all.
       */
      readonly staff?: {
        readonly most: number | null;
        /** Titles, the best first: a company's segments are of one each, in this order. */
        readonly ladder?: readonly string[];
        readonly keep?: Keep;
        readonly prospects?: readonly Prospect[];
        /** Companies whose address nobody knows: nobody was looked for there. */
        readonly unknown?: number;
      };
      readonly except?: readonly Filters[];
      /** Only whom nobody owns yet is bought; written are they alone, or the owned too. */
      readonly owned?: "without" | "with";
      /** Nor is whoever is owned from another service, by profile address. */
      readonly anywhere?: true;
      /** Where a limit bounds owned and new together: rows of both, and of the new alone. */
      readonly within?: { readonly rows: number; readonly fresh: number };
      readonly sample?: Sampling;
      /** Ids of whom it is, in place of filters. */
      readonly named?: readonly string[];
      /**
       * Absolute path of the list that a refresh buys for. Only parts of the segment are bought.
       */
      readonly list?: string;
    }
  | {
      readonly kind: "employees";
      readonly companies: readonly CompanyQuery[];
      readonly perCompany: number | null;
    }
  | {
      readonly kind: "enrich";
      readonly companies: readonly CompanyQuery[];
      readonly keep?: Keep;
      /** Only addresses are wanted: one that nobody knows is no failure. */
      readonly lookUp?: true;
    };

export const isNarrowed = (target: Target): boolean =>
  target.kind === "search" && target.owned !== undefined;

export const isForgiving = (target: Target): boolean =>
  target.kind === "enrich" && (target.keep !== undefined || target.lookUp === true);

/** What takes the place of a file: see docs/reference/output.md, "Files that stay". */
export interface Guard {
  readonly overwrite: boolean;
  /** Whether nothing may take the place of something. */
  readonly allowEmpty: boolean;
  readonly minRows?: number | undefined;
  /** The most that the rows may become fewer by, as a share (0.5: half). */
  readonly maxShrink?: number | undefined;
  /** Whether a part of what matches may not, either. */
  readonly requireComplete?: boolean;
}

export interface SavedView {
  readonly format: string;
  readonly fields: readonly string[] | null;
  readonly excel: boolean;
  readonly raw: boolean;
}

/** Rows that a target has, or has at most; null where no free count tells. */
export interface Matches extends Pick<Plan, "matches"> {
  /**
   * Companies where nobody is counted: only asking for a row tells whether the service knows them.
   */
  readonly uncounted?: number | undefined;
}

/** `plan.json` of a run: everything that must be the same when it is continued. */
export interface Plan extends RunIdentity, Division {
  readonly version: number;
  readonly id: string;
  readonly created_at: string;
  /** That began it, and alone goes on with it; undefined: this one. */
  readonly machine?: Machine;
  /** SHA-256 of the file that it wrote on another machine, whose path stays there. */
  readonly wrote?: string;
  readonly command: RunCommand;
  readonly dataset_version: string | null;
  readonly unit_price: string;
  readonly matches: number | null;
  /** In the order of the output: see `pagesText` of `planning/draw.ts`. */
  readonly draw?: { readonly seed: number; readonly pages: string };
  readonly paging: Dialect["paging"];
  /** As it was told. */
  readonly first_page?: 0 | 1 | undefined;
  /** The file of a vendor that it is bought by. */
  readonly dialect?: string | undefined;
  readonly view: SavedView;
  readonly per_page: number | null;
  readonly guard?: Guard;
  readonly misses: string | null;
  readonly receipt: string | null;
}

export interface RunIdentity {
  readonly connection: string;
  /** "sample" for the built-in connection, whose port is another one each time. */
  readonly base_url: string;
  readonly account_id: string | null;
  readonly key_mode: "live" | "test" | null;
  readonly target: Target;
  readonly output: string | null;
}

const EVERYBODY = "everybody";

export const unlooked = (target: Target): number =>
  (target.kind === "search" && target.staff?.unknown) || 0;

/** A target as one line of text, equal where the same thing is bought. */
export function targetText(target: Target): string {
  if (target.kind === "search") {
    const sample = target.sample === undefined ? "" : ` sample ${JSON.stringify(target.sample)}`;
    const few = target.within === undefined ? "" : `, ${target.within.rows} at most`;
    const only = target.owned === undefined ? "" : ` ${target.owned} the owned${few}`;
    const list = target.list === undefined ? "" : ` for ${target.list}`;
    const staff = target.staff === undefined ? "" : ` at most ${target.staff.most ?? "all"} each`;
    const beside =
      target.staff?.keep === undefined ? "" : ` beside ${JSON.stringify(target.staff.keep)}`;
    return `search ${target.canonical}${only}${sample}${staff}${beside}${list}`;
  }

  const companies = target.companies.map(({ by, value }) => `${by}=${value}`);
  const limit = target.kind === "employees" ? ` at most ${target.perCompany ?? "all"} each` : "";
  const keep =
    target.kind === "enrich" && target.keep !== undefined
      ? ` beside ${JSON.stringify(target.keep)}`
      : "";
  const why = target.kind === "enrich" && target.lookUp ? " for addresses" : "";
  return `${target.kind} ${JSON.stringify(companies)}${limit}${keep}${why}`;
}

/** What must be allowed, as the options that say it. */
export const raiseOptions = ({ withOwned = false, limit, maxCredits: cap }: Raise): Option[] => [
  ...(withOwned ? [option("with_owned")] : []),
  ...(limit === undefined ? [] : [option("limit", limit)]),
  ...(cap === undefined ? [] : [option("max_credits", creditsToNumber(credits(cap)))]),
];

type Resumed = Pick<Plan, "id" | "target"> & Partial<Pick<Plan, "output" | "connection">>;

/**
 * The command that goes on with a run; the file of a list may not be there yet.
 * @param raise of no list
 */
export function resumeOf(run: Resumed, raise: Raise = {}): OwnCommand {
  const { id, target, output = null, connection = "environment" } = run;
  if (target.kind === "search" && target.list !== undefined)
    return listCommand(target.filters, target.list, connection);
  if (target.kind === "search" && raise.withOwned) {
    const file = output === null ? [] : [option("output", output), option("overwrite")];
    return command("search", {
      segment: flagsOf(target.filters),
      options: [...raiseOptions(raise), ...file, ...atConnection(connection)],
    });
  }
  return command("resume", { arguments: [id], options: raiseOptions(raise) });
}

/** Once the service answers the run goes on: nothing of it was asked for, and it is as it was. */
export function notReached(error: unknown, run: Resumed, { limit, maxCredits }: Raise): unknown {
  const isOfService =
    error instanceof CliError && ["network", "rate_limit", "service"].includes(error.category);
  if (!isOfService || error.next !== undefined) return error;

  const next = resumeOf(run, { limit, maxCredits });
  const goesOn = say`${next} goes on where run ${run.id} stopped`;
  return error.with({ next, hint: error.hint ? clauses(error.hint, goesOn) : goesOn });
}

export const listCommand = (filters: Filters, list: string, connection: string): OwnCommand =>
  command("refresh", {
    segment: flagsOf(filters),
    options: [option("output", list), ...atConnection(connection)],
  });

/** The file that a run writes, or the list that it buys for; null: stdout. */
export const fileOf = ({ output, target }: Pick<Plan, "output" | "target">): string | null =>
  (target.kind === "search" && target.list) || output;

/** Whether another machine began it. */
export const isElsewhere = ({ machine }: Plan, here: Machine): boolean =>
  machine !== undefined && machine.id !== here.id;

/** The command that buys the same anew, as far as one can say it. */
export const anewOf = ({ command: name, target }: Plan): OwnCommand =>
  target.kind === "search"
    ? command("search", { segment: flagsOf(target.filters) })
    : command(name);

/** As it was asked for: of a search its values where they say what they are (`Legal · germany`). */
export function spokenTarget(target: Target, say = spokenFilters): string {
  if (target.kind !== "search") return `${target.kind} ${describeTarget(target)}`;
  const { filters, union = [filters], except = [], staff } = target;
  if (staff !== undefined) return describeTarget(target);
  const without = except.length === 0 ? "" : ` without ${except.map(say).join(" or ")}`;
  return `${selectionText(target)}${union.map(say).join(" or ")}${without}`;
}

export function spokenFilters(filters: Filters): string {
  const parts = Object.entries(filters).map(([key, value]) => {
    const some = someOf([value].flat().map(String));
    if (key.endsWith("_prefix")) return `${some}…`;
    return typeof value === "number" ? `${key} ${some}` : some;
  });
  return parts.join(" · ") || EVERYBODY;
}

function selectionText({ sample, owned }: Target & { readonly kind: "search" }): string {
  const whose = { without: "new people of ", with: "new people, and those owned, of " };
  const who = owned === undefined ? "" : whose[owned];
  return sample === undefined ? who : `${who}sample of ${grouped(sample.rows)} of `;
}

export const companiesIn = (segments: readonly Filters[]): number =>
  new Set(segments.map(({ company_network_url: company }) => company)).size;

export function describeTarget(target: Target): string {
  if (target.kind === "search" && target.staff !== undefined) {
    const { filters, staff, union = [] } = target;
    const { most, ladder = [] } = staff;
    const each = most === null ? "" : `at most ${grouped(most)} each of `;
    const who = [
      ...(Object.keys(filters).length === 0 && ladder.length > 0 ? [] : [spokenFilters(filters)]),
      ladder.join(", else "),
    ];
    const companies = counted(companiesIn(union), "company", "companies");
    return `${each}${who.filter((text) => text !== "").join(" · ")} at ${companies}`;
  }

  if (target.kind === "search")
    return spokenTarget(target, (of) => JSON.stringify(of).replace(/^{}$/, EVERYBODY));

  const names = target.companies.map(({ value }) => value);
  return someOf(names, 1) || "nothing";
}

/** People whom no part holds, and why: at most so many groups. */
export const unreachedGroups = (groups: NonNullable<Division["unreached"]>): string =>
  someOf(groups.map(({ where, count }) => `${grouped(count)} ${where}`));

/** @param count undefined where nobody was counted */
export const peopleAt = (
  count: number | undefined,
  { perCompany }: Extract<Target, { kind: "employees" }>,
): number => Math.min(count ?? Infinity, perCompany ?? Infinity);
