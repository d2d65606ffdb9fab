import { saysUnknown, sizeRefusal, speaksOf } from "./refusal.ts";
import type { Dialect } from "./types.ts";

/** What became of a probe: refused in words, a free miss, a success that cost nothing or something, or nothing usable. */
export interface Told {
  readonly kind: "refused" | "miss" | "taken" | "charged" | "nothing";
  /** The refusal's words, or the request's id where something was charged. */
  readonly text: string;
}

export type Ask = (method: "GET" | "POST", path: string, body?: unknown) => Promise<Told>;

/** How a service pages, as far as it showed. What did not show is undefined: nothing is assumed here. */
export interface PagingReport {
  readonly paging: Dialect["paging"] | undefined;
  readonly firstPage: 0 | 1 | undefined;
  readonly perPageMax: number | undefined;
  /** What a probe was charged, in words; should never be there. */
  readonly charged: string | undefined;
}

const FAR_TOO_LARGE = 1_000_000_000;
const PARAMETERS = ["page", "offset", "cursor"] as const;
/** A probe that was answered as if it were paid for: nothing more is tried. */
class Charged extends Error {}

/**
 * Tries each way to page by calls that cannot cost anything.
 * @param strict whether unknown filters are refused: only then a search that carries one is certain to be refused
 */
export async function probePaging(ask: Ask, strict: boolean): Promise<PagingReport> {
  const nothing: PagingReport = { paging: undefined, firstPage: undefined, perPageMax: undefined, charged: undefined };
  const filters = { headcount_doctor_probe: "no such filter" };
  const search = async (fields: object): Promise<Told> => {
    const told = await ask("POST", "/v1/person/search", { filters, per_page: 1, ...fields });
    if (told.kind !== "charged" && told.kind !== "taken") return told;
    throw new Charged(`a search with an unknown filter was not refused (request ${told.text})`);
  };
  // A company that nobody has is a free miss (docs/contract.md, Employees), whatever the rest of the query says.
  const employees = async (fields: Readonly<Record<string, string>>): Promise<Told> => {
    const query = new URLSearchParams({ company_network_url: "headcount-doctor-probe", per_page: "1", ...fields });
    const told = await ask("GET", `/v1/company/employees?${query}`);
    if (told.kind === "charged") throw new Charged(`a company that nobody has was charged for (request ${told.text})`);
    return told.kind === "taken" ? { ...told, kind: "miss" } : told;
  };
  try {
    const bySearch = strict ? await fromWords(search) : nothing;
    const whole = bySearch.paging !== undefined && (bySearch.paging !== "page" || bySearch.firstPage !== undefined);
    if (whole && bySearch.perPageMax !== undefined) return bySearch;
    if ((await employees({})).kind !== "miss") return bySearch;
    const byQuery = await fromOutcomes(employees);
    return {
      paging: bySearch.paging ?? byQuery.paging,
      firstPage: bySearch.firstPage ?? byQuery.firstPage,
      perPageMax: bySearch.perPageMax ?? byQuery.perPageMax,
      charged: undefined,
    };
  } catch (error) {
    if (error instanceof Charged) return { ...nothing, charged: error.message };
    throw error;
  }
}

/** Searches with one fault more than the unknown filter: a service that tells all faults of a body tells of that one. */
async function fromWords(search: (fields: object) => Promise<Told>): Promise<PagingReport> {
  const words = async (fields: object): Promise<string> => {
    const { kind, text } = await search(fields);
    // What is said of the filter itself is no news.
    return kind === "refused" ? text.replace(/unknown filter[^;]*/gi, "").replace(/valid filters[^;]*/gi, "") : "";
  };
  const listed = /valid (?:fields|parameters|keys)\W+(.*)/i.exec(await words({ headcount_doctor_probe: true }))?.[1];
  let paging = PARAMETERS.find((name) => listed !== undefined && speaksOf(listed, name));
  for (const name of paging === undefined ? PARAMETERS : []) {
    const text = await words({ [name]: name === "cursor" ? 0 : "probe" });
    if (speaksOf(text, name) && !saysUnknown(text)) paging ??= name;
  }
  const bound = largestIn(await words({ per_page: FAR_TOO_LARGE }));
  const report = { paging, perPageMax: bound, charged: undefined };
  if (paging !== "page") return { ...report, firstPage: undefined };
  // A page that is wrong is spoken of; the first one is not.
  const [negative, zero] = [await words({ page: -1 }), await words({ page: 0 })];
  const told = speaksOf(zero, "page") ? 1 : speaksOf(negative, "page") ? 0 : undefined;
  return { ...report, firstPage: told };
}

/** A query that is wrong is refused before the company is looked for; one that is right is a miss. */
async function fromOutcomes(
  employees: (fields: Readonly<Record<string, string>>) => Promise<Told>,
): Promise<PagingReport> {
  let paging: Dialect["paging"] | undefined;
  for (const name of PARAMETERS) {
    const { kind, text } = await employees({ [name]: "probe" });
    if (kind === "refused" && !saysUnknown(text)) paging ??= name;
  }
  const large = await employees({ per_page: String(FAR_TOO_LARGE) });
  const perPageMax = large.kind === "refused" ? largestIn(large.text) : undefined;
  let firstPage: 0 | 1 | undefined;
  if (paging === "page" && (await employees({ page: "-1" })).kind === "refused") {
    const zero = (await employees({ page: "0" })).kind;
    if (zero === "miss") firstPage = 0;
    else if (zero === "refused" && (await employees({ page: "1" })).kind === "miss") firstPage = 1;
  }
  return { paging, firstPage, perPageMax, charged: undefined };
}

/** The largest page that a refusal names. */
function largestIn(text: string): number | undefined {
  const refusal = sizeRefusal(text, FAR_TOO_LARGE, new Set());
  return refusal !== undefined && "atMost" in refusal && refusal.atMost < 1_000_000 ? refusal.atMost : undefined;
}
