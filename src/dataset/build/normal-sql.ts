import type { DuckDBConnection } from "@duckdb/node-api";
import { canonicalAddress, canonicalDomain } from "../../shared/contract/naming/address.ts";
import { normalForm } from "../../shared/contract/normalise.ts";
import { addFunction } from "../duckdb.ts";

/**
 * Characters of which the normal form is the lower case (of a sharp s: two), also
 * beside each other, in every version of Unicode: ASCII, signs, letters of Latin, Greek,
 * Cyrillic, Hebrew, Arabic and Thai, kana, hangul, Chinese characters, symbols, emoji.
 */
const PLAIN = [
  "!-~\\x{a1}-\\x{a7}\\x{ab}\\x{b0}\\x{b7}\\x{bb}\\x{bf}-\\x{12f}",
  "\\x{141}-\\x{148}\\x{14a}-\\x{17e}",
  "\\x{388}-\\x{3c1}\\x{3c3}-\\x{3ce}\\x{400}-\\x{45f}\\x{5d0}-\\x{5ea}",
  "\\x{620}-\\x{64a}\\x{e01}-\\x{e30}",
  "\\x{2012}-\\x{2016}\\x{2018}-\\x{2022}\\x{2600}-\\x{27bf}",
  "\\x{3041}-\\x{3096}\\x{30a1}-\\x{30fa}\\x{30fc}",
  "\\x{3400}-\\x{4dbf}\\x{4e00}-\\x{9fff}\\x{ac00}-\\x{d7a3}\\x{1f300}-\\x{1faff}",
].join("");

// No pattern here ignores case: then the long s and the
// sign of Kelvin, which are other letters, would match.
const BEFORE_HOST = "([hH][tT][tT][pP][sS]?://)?([wW][wW][wW][.])?";
// A longer path, and a host of more labels, may be those of a network, which are cut.
const LABEL = "[A-Za-z0-9_-]+";
const TOP_LABEL = "[A-Za-z_-][A-Za-z0-9_-]+";
const ADDRESS = `${BEFORE_HOST}${LABEL}[.]${TOP_LABEL}(/[A-Za-z0-9_.~-]+){1,2}/?`;
const DOMAIN = `${BEFORE_HOST}${LABEL}([.]${LABEL})*[.]${TOP_LABEL}/?`;
/** As most are written, and nothing is to be done: without a "--", of which "xn--" is one. */
const PLAIN_DOMAIN = "[a-z0-9]+([.-][a-z0-9]+)*[.][a-z]{2,}";
const bare = (text: string): string =>
  `regexp_replace(lower(CASE WHEN suffix(${text}, '/') THEN left(${text}, ` +
  `-1) ELSE ${text} END), '^(https?://)?(www[.])*', '')`;

export const PERSON_FORMS =
  "address_form(network_url) AS address, address_form(company_network_url) AS company_address";

/**
 * What contract/normalise.ts gives, as macros. Texts with
 * characters that DuckDB treats otherwise go to JavaScript.
 */
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

  const macros = {
    normal_form:
      `WHEN regexp_full_match(x, '[${PLAIN}]+( [${PLAIN}]+)*') ` +
      "THEN CASE WHEN contains(x, 'ß') THEN replace(lower(x), 'ß', 'ss') ELSE lower(x) END " +
      "ELSE js_normal_form(x)",
    address_form: `WHEN contains(x, '--') AND contains(lower(x), 'xn--') THEN js_address_form(x)
      WHEN regexp_full_match(x, '${ADDRESS}') THEN ${bare("x")}
      WHEN regexp_full_match(x, '[A-Za-z0-9_-]+') THEN lower(x)
      WHEN regexp_full_match(x, '${ADDRESS}[?#][!-~]*')
      THEN ${bare("regexp_extract(x, '^[^?#]*')")} ELSE js_address_form(x)`,
    // Of "www.example" nothing with a dot is left.
    domain_form: `WHEN regexp_full_match(x, '${PLAIN_DOMAIN}') AND NOT starts_with(x, 'www.') THEN x
      WHEN contains(lower(x), 'xn--') OR regexp_full_match(lower(x), '(https?://)?(www[.])+[^.]*')
      THEN js_domain_form(x)
      WHEN regexp_full_match(x, '${DOMAIN}') THEN ${bare("x")} ELSE js_domain_form(x)`,
    slug_of: "ELSE split_part(x, '/', -1)",
  };

  for (const each of [connection, ...others]) {
    for (const [name, cases] of Object.entries(macros)) {
      await each.run(
        `CREATE OR REPLACE TEMP MACRO ${name}(x) AS CASE WHEN x IS NULL THEN NULL ${cases} END`,
      );
    }
  }
}
