import type { DuckDBConnection } from "@duckdb/node-api";
import { canonicalAddress, canonicalDomain, normalForm } from "../../shared/contract/normalise.ts";
import { addFunction, literal } from "../duckdb.ts";

type Range = readonly [first: number, last: number];

/** Where the characters of names and headlines are; each is tried. The last three have no case or other form. */
const TRIED: readonly Range[] = [
  [0x21, 0x7e],
  [0xa1, 0x33ff],
  [0xa490, 0xabff],
  [0xfe00, 0xfe0f],
  [0x1f000, 0x1faff],
];
const SIMPLE: readonly Range[] = [
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xac00, 0xd7a3],
];
const APART = "\u0001";
const WHITE = /[\p{White_Space}\ufeff]/u;
/** What may become one character with the one before it, or change places with the next. */
const JOINS = /[\p{M}\u1100-\u11ff\ud7b0-\ud7ff]/u;

// No pattern here ignores case: then the long s and the sign of Kelvin, which are other letters, would match.
const BEFORE_HOST = "([hH][tT][tT][pP][sS]?://)?([wW][wW][wW][.])?";
const ADDRESS = `${BEFORE_HOST}[A-Za-z0-9_.~-]+(/[A-Za-z0-9_.~-]+)+/?`;
const DOMAIN = `${BEFORE_HOST}[A-Za-z0-9_-]+([.][A-Za-z0-9_-]+)+/?`;
const bare = (text: string): string =>
  `regexp_replace(lower(CASE WHEN suffix(${text}, '/') THEN left(${text}, -1) ELSE ${text} END), '^(https?://)?(www[.])?', '')`;

const composedForm = (text: string): string =>
  `nfc_normalize(replace(replace(lower(nfc_normalize(${text})), 'ß', 'ss'), 'ς', 'σ'))`;

/** What a source of people adds to the columns of their records, once for all steps that follow. */
export const PERSON_FORMS =
  "address_form(network_url) AS address, address_form(company_network_url) AS company_address";

/** What contract/normalise.ts gives, as macros. Texts with characters that DuckDB treats otherwise go to JavaScript. */
export async function addNormalForms(
  connection: DuckDBConnection,
  ...others: readonly DuckDBConnection[]
): Promise<void> {
  const forms = { normal: normalForm, address: canonicalAddress, domain: canonicalDomain };
  for (const [name, formOf] of Object.entries(forms)) {
    await addFunction(connection, `js_${name}_form`, (input, output) => {
      const column = input.getColumnVector(0);
      for (let row = 0; row < input.rowCount; row++) {
        const value = column.getItem(row);
        output.setItem(row, typeof value === "string" ? formOf(value) || null : null);
      }
    });
  }
  known ??= findClasses(connection).catch((error: unknown) => {
    known = undefined;
    throw error;
  });
  const { plain, composed } = await known;
  const words = (of: string): string => literal(`[${of}]+( [${of}]+)*`);
  const macros = {
    normal_form: `WHEN regexp_full_match(x, ${words(plain)}) THEN lower(x)
      WHEN regexp_full_match(x, ${words(composed)}) THEN ${composedForm("x")} ELSE js_normal_form(x)`,
    address_form: `WHEN contains(lower(x), 'xn--') THEN js_address_form(x) WHEN regexp_full_match(x, '${ADDRESS}') THEN ${bare("x")}
      WHEN regexp_full_match(x, '[A-Za-z0-9_.~-]+') THEN lower(x)
      WHEN regexp_full_match(x, '${ADDRESS}[?#][!-~]*') THEN ${bare("regexp_extract(x, '^[^?#]*')")} ELSE js_address_form(x)`,
    // Of "www.example" nothing with a dot is left.
    domain_form: `WHEN contains(lower(x), 'xn--') OR regexp_full_match(lower(x), '(https?://)?www[.][^.]*') THEN js_domain_form(x)
      WHEN regexp_full_match(x, '${DOMAIN}') THEN ${bare("x")} ELSE js_domain_form(x)`,
    slug_of: "ELSE split_part(x, '/', -1)",
  };
  for (const each of [connection, ...others]) {
    for (const [name, cases] of Object.entries(macros)) {
      await each.run(`CREATE OR REPLACE TEMP MACRO ${name}(x) AS CASE WHEN x IS NULL THEN NULL ${cases} END`);
    }
  }
}

interface Classes {
  readonly plain: string;
  readonly composed: string;
}

let known: Promise<Classes> | undefined;

/** The normal form of `plain` texts is the lower case; those of `composed` ones have parts put together around it. */
async function findClasses(connection: DuckDBConnection): Promise<Classes> {
  const reader = await connection.runAndReadAll(
    `SELECT i, c, lower(c), ${composedForm("c")} FROM (SELECT i, chr(i) AS c
      FROM (SELECT unnest(range(first, last + 1))::INTEGER AS i FROM (VALUES ${TRIED.map(([first, last]) => `(${first}, ${last})`).join(", ")}) AS t (first, last)))`,
  );
  const [codes = [], characters = [], lowers = [], boths = []] = reader.getColumnsJS() as [number[], ...string[][]];
  const all = characters.join(APART);
  const each = (form: (text: string) => string): readonly string[] => form(all).split(APART);
  const [nfd, nfkc, nfkd] = (["NFD", "NFKC", "NFKD"] as const).map((name) => each((text) => text.normalize(name)));
  const plain = new Set<number>();
  const composed = new Set<number>();
  const parted: string[] = [];
  for (const [index, form] of each(normalForm).entries()) {
    const character = characters[index] ?? "";
    const code = codes[index] ?? 0;
    const parts = nfd?.[index] ?? "";
    const isText = !WHITE.test(character) && nfkd?.[index] === parts;
    if (isText && form === boths[index]) composed.add(code);
    else if (parts !== character) parted.push(parts);
    const isWhole = nfkc?.[index] === character && form.normalize("NFKC") === form;
    if (isText && isWhole && form === lowers[index] && !JOINS.test(character + form)) plain.add(code);
  }
  // A capital I with a dot, which they lower-case otherwise, may also come in two parts.
  for (const parts of parted) composed.delete([...parts].at(-1)?.codePointAt(0) ?? 0);
  return { plain: classOf(plain), composed: classOf(composed) };
}

function classOf(codes: ReadonlySet<number>): string {
  const ranges: [number, number][] = SIMPLE.map(([first, last]) => [first, last]);
  for (const code of codes) {
    const range = ranges.at(-1);
    if (range && range[1] === code - 1) range[1] = code;
    else ranges.push([code, code]);
  }
  const escaped = (code: number): string => `\\x{${code.toString(16)}}`;
  return ranges.map(([first, last]) => `${escaped(first)}-${escaped(last)}`).join("");
}
