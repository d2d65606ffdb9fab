import type { CompanyQuery } from "../../engine/client/dialect.ts";
import { searchTarget } from "../../engine/purchase/joined.ts";
import type { Target } from "../../engine/runs/plan.ts";
import { filterWords, optionWords } from "../../shared/contract/command-line.ts";
import { checkFilters, isUnfiltered } from "../../shared/contract/filters.ts";
import { type Credits, formatCredits } from "../../shared/contract/money.ts";
import type { Networks } from "../../shared/contract/naming/address.ts";
import { companyKey, companySaid, isCompany } from "../../shared/contract/naming/read.ts";
import { echo } from "../../shared/contract/text.ts";
import { type CliError, shellWord, usageError } from "../../shared/errors.ts";
import { invalidFilter } from "../../shared/filters.ts";
import { companiesOf, networksFor } from "../buy/column.ts";
import { staffOf } from "../buy/staff.ts";
import type { Connecting } from "../session.ts";
import type { Input } from "./schemas.ts";

/** Filters as a tool got them. @throws CliError exit 2 with every issue */
export function filtersOfTool(input: unknown) {
  const checked = checkFilters(input ?? {});
  if (checked.ok) return checked;
  throw invalidFilter(checked.issues).with({
    hint: "describe_filters tells the keys and what they take",
  });
}

const wrong = (message: string, hint: string): CliError => usageError(message, hint);

/** What a quote is about. @throws CliError exit 2 where it says nothing that can be bought */
export async function targetOf(
  {
    kind,
    filters,
    companies = [],
    per_company: each,
    profiles,
    new_only: fresh,
    titles,
  }: Input<"quote">,
  learn?: () => Promise<Networks>,
): Promise<Target> {
  const isFresh = fresh === true;
  if (isFresh && kind === "enrich")
    throw wrong('new_only is about people, not the kind "enrich"', "leave it out");

  if (kind === "people") {
    if (companies.length > 0 || each !== undefined || titles !== undefined)
      throw wrong(
        'companies, per_company and titles go with other kinds than "people"',
        'give filters for "people"',
      );

    const segment = filtersOfTool(filters);
    if (isUnfiltered(segment.canonical))
      throw wrong(
        "no filter is given, so this would be the whole dataset",
        "give at least one filter",
      );

    const target = searchTarget([segment], []);
    return isFresh ? { ...target, owned: "without" } : target;
  }

  if ((filters ?? titles) !== undefined && kind === "enrich")
    throw wrong(
      'filters go with the kinds "people" and "employees", not "enrich"',
      "give companies",
    );
  if (companies.length === 0)
    throw wrong("no company is given", "give companies: domains, profile addresses or slugs");

  const chosen = await companiesNamed(companies, learn);
  const other = chosen.find(({ by }) => by !== "company_network_url");
  if (kind === "employees" && (filters ?? titles ?? fresh) !== undefined && other !== undefined)
    throw wrong(
      "with filters, titles or new_only a company is named by its profile address or slug, " +
        `and "${echo(other.value)}" is a ${other.by}: no filter finds its people`,
      "a quote of the kind enrich buys its address (company_network_url)",
    );

  if (kind === "employees")
    return staffOf(chosen, {
      most: each ?? null,
      segment: filters && filtersOfTool(filters),
      ladder: titles,
      newOnly: fresh,
    });

  if (each !== undefined || profiles !== undefined)
    throw wrong(
      'profiles and per_company are about people, not the kind "enrich"',
      "leave them out",
    );

  return { kind, companies: chosen };
}

/** Each company once. @throws CliError exit 2 for a text that names none */
async function companiesNamed(
  texts: readonly string[],
  learn: (() => Promise<Networks>) | undefined,
): Promise<readonly CompanyQuery[]> {
  const cells = texts.map((text) => [{ text }]);
  const names = await companiesOf(cells, { learned: await networksFor(cells, learn) });
  const companies = new Map<string, CompanyQuery>();
  for (const [at, name] of names.entries()) {
    if (!isCompany(name))
      throw wrong(
        `"${echo(texts[at] ?? "")}" names no company (${name.is ?? name.why})`,
        "give a domain (acme.com), a profile address or its slug",
      );
    companies.set(companyKey(name), name);
  }
  return [...companies.values()];
}

/** A look-up names its company in exactly one way. @throws CliError exit 2 */
export function companyOf(
  words: Partial<Readonly<Record<CompanyQuery["by"], string>>>,
): CompanyQuery {
  const [first, second] = Object.entries(words).filter(([, value]) => value !== undefined);
  if (first === undefined || second !== undefined)
    throw wrong(
      "a company is named in exactly one way",
      "give domain, company_network_url, name or id",
    );
  const [by, value] = first as [CompanyQuery["by"], string];
  const name = companySaid(value, by);
  if (isCompany(name)) return name;
  throw wrong(`${by} names no company: ${name.why}`, "give another, or leave the company out");
}

/** The command by which a person buys the same and no more, ready to be pasted into a shell. */
export function personsCommand(
  target: Target,
  connection: string,
  { baseUrl, paging }: Pick<Connecting, "baseUrl" | "paging">,
  bounds: {
    readonly limit: number | undefined;
    readonly credits: Credits;
    readonly again?: boolean | undefined;
  },
): string {
  const own = connection === "environment" ? undefined : connection;
  const service = optionWords({ "-c": own, "--base-url": baseUrl, "--paging": paging });
  const bound = [
    ...optionWords({ "--limit": bounds.limit, "--max-credits": formatCredits(bounds.credits) }),
    ...(bounds.again === true ? ["--again"] : []),
    ...(target.kind === "search" && target.owned === "without" ? ["--new-only"] : []),
  ];
  const command = (words: readonly string[], names: readonly string[] = []): string =>
    ["headcount", ...service, ...words, ...bound, ...names].map(shellWord).join(" ");

  if (target.kind === "search" && target.staff !== undefined) {
    const { filters, staff, union = [] } = target;
    const most = staff.most === null ? [] : ["--per-company", `${staff.most}`];
    const ladder = staff.ladder === undefined ? [] : ["--title-ladder", staff.ladder.join("; ")];
    const slugs = new Set(union.map(({ company_network_url: company }) => String(company)));
    return command(["employees", ...filterWords(filters), ...most, ...ladder], ["--", ...slugs]);
  }
  if (target.kind === "search") return command(["search", ...filterWords(target.filters)]);

  const { companies, kind } = target;
  const [first] = companies;
  const by =
    kind === "enrich" && companies.length === 1 && (first?.by === "name" || first?.by === "id");
  const each =
    target.kind === "employees" && target.perCompany !== null
      ? ["--per-company", `${target.perCompany}`]
      : [];
  const names = ["--", ...companies.map(({ value }) => value)];
  return command([kind, ...each, ...(by ? ["--by", first?.by ?? ""] : [])], names);
}
