// Tested by test/cli/naming.test.ts.
import type { Networks } from "../../shared/contract/naming/address.ts";
import {
  type CompanyName,
  companyIn,
  isCompany,
  type NoName,
  type Reading,
  read,
} from "../../shared/contract/naming/read.ts";
import { counted, echo, grouped } from "../../shared/contract/text.ts";

/** A cell that may name a row's company. */
export interface NamingCell {
  readonly text: string;
  /** The name of its column, in lower case with underscores; undefined where it has none. */
  readonly column?: string | undefined;
}

/** A host at which several rows name other pages: its company may be none of theirs. */
export interface SharedHost {
  readonly host: string;
  readonly rows: number;
}

export interface Naming {
  readonly by?: "name" | "id" | null | undefined;
  readonly learned?: Networks | undefined;
  /** Says of which of these hosts the company is meant. Default: of none. */
  readonly agree?: ((hosts: readonly SharedHost[]) => Promise<ReadonlySet<string>>) | undefined;
}

const OF_ADDRESSES = /(?:^|_)(?:domain|domains|website|web_site|homepage|url|site)(?:_|$)/;
const OF_PROFILES = /(?:^|_)(?:network|linkedin|profile)(?:_|$)/;
const isOfAddresses = (column = ""): boolean =>
  OF_ADDRESSES.test(column) && !OF_PROFILES.test(column);

/**
 * The company that each row names, or why it names none: rows are read beside each other, since a
 * column of names, and a host of many companies, show only there.
 * @param rows of each its cells, the best first; without texts it names none
 */
export async function companiesOf(
  rows: readonly (readonly NamingCell[])[],
  { by, learned, agree = async () => new Set() }: Naming,
): Promise<readonly (CompanyName | NoName)[]> {
  const all = rows.map((cells) =>
    cells.map((cell) => ({ ...cell, reading: read(cell.text, learned) })),
  );
  const ofNames = columnsOfNames(all);

  const chosen = all.map((cells) => {
    const named = cells.map((cell) => ({ ...cell, name: nameIn(cell, by, ofNames) }));
    return named.find(({ name }) => isCompany(name)) ?? named[0];
  });
  const shared = by ? new Map<string, number>() : sharedHosts(chosen);
  const hosts = [...shared].map(([host, count]) => ({ host, rows: count }));
  const agreed = hosts.length === 0 ? new Set() : await agree(hosts);

  return chosen.map((cell): CompanyName | NoName => {
    const { host = "" } = pageIn(cell?.reading) ?? {};
    const count = shared.get(host);
    if (count === undefined || agreed.has(host)) return cell?.name ?? { why: "empty" };

    const why = `one of ${counted(count, "page")} at ${host}, whose company may be another`;
    return { why, isSeveral: true };
  });
}

interface ReadCell extends NamingCell {
  readonly reading: Reading;
}

/** Columns in which a cell has several words: a single one there is a name as well. */
const columnsOfNames = (rows: readonly (readonly ReadCell[])[]): ReadonlySet<string | undefined> =>
  new Set(
    rows.flatMap((cells) =>
      cells.flatMap(({ reading, column }) => (reading.is === "name" ? [column] : [])),
    ),
  );

function nameIn(
  { text, column, reading }: ReadCell,
  by: Naming["by"],
  ofNames: ReadonlySet<string | undefined>,
): CompanyName | NoName {
  if (!by && reading.is === "word" && ofNames.has(column))
    return { why: `"${echo(text)}" stands among names; --by name looks names up` };
  return companyIn(text, { by, isAddress: isOfAddresses(column) }, reading);
}

/** The host and the page that a text names; undefined where it names no page. */
const pageIn = (reading: Reading | undefined) =>
  reading?.is === "domain" && reading.path !== ""
    ? { host: reading.value, path: reading.path }
    : undefined;

function sharedHosts(cells: readonly (ReadCell | undefined)[]): ReadonlyMap<string, number> {
  const pages = new Map<string, string[]>();
  for (const cell of cells) {
    const page = pageIn(cell?.reading);
    if (page !== undefined) pages.set(page.host, [...(pages.get(page.host) ?? []), page.path]);
  }
  return new Map(
    [...pages].flatMap(([host, paths]) =>
      new Set(paths).size > 1 ? [[host, paths.length] as const] : [],
    ),
  );
}

/** What is asked before anything is bought for rows that share a host. */
export const sharedQuestion = ({ host, rows }: SharedHost): string =>
  `${grouped(rows)} rows name different pages at ${host}: ` +
  `look up the company of ${host} for each of them? [y/N]`;
