// node strangers.mjs PEOPLE FILE KIND: writes a Parquet file of people who are not as our own sample writes them.
// KIND: `sample` (the sample's people as other systems write them), `dirty` (long-tailed free text in every text column, in mixed case
// and spacing, numbers, dates and addresses of which some cannot be used) or `distinct` (ten text columns of which no two values are alike).
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { ROOT } from "./harness.mjs";

const URLS = `CASE WHEN h % 50 > 0 THEN 'https://www.' || CASE WHEN h % 7 = 0 THEN upper(network_url) ELSE network_url END ||
    CASE WHEN h % 11 = 0 THEN '/?utm=x' WHEN h % 5 = 0 THEN '/' ELSE '' END END AS network_url`;

/** The sample's people as other systems write them, in SQL, of `staged` with a number `h` for each. */
export const SAMPLE = `SELECT id, ${URLS},
    CASE WHEN h % 100 = 1 THEN 'İbrahim ' || last_name WHEN h % 40 = 2 THEN 'محمد ' || last_name
      WHEN h % 100 = 3 THEN 'Ｊｏｈｎ ' || last_name ELSE name END AS name,
    CASE WHEN h % 100 = 1 THEN 'İbrahim' WHEN h % 40 = 2 THEN 'محمد' WHEN h % 100 = 3 THEN 'Ｊｏｈｎ'
      WHEN h % 40 = 4 THEN replace(replace(first_name, 'é', 'e' || chr(769)), 'ü', 'u' || chr(776)) ELSE first_name END AS first_name,
    last_name,
    CASE WHEN h % 10 = 0 THEN '🚀 ' || headline WHEN h % 20 = 1 THEN headline || ' • Straße' WHEN h % 50 = 3 THEN headline || ' ﬁnance'
      WHEN h % 100 = 2 THEN repeat(headline || ' ', 8) ELSE headline END AS headline,
    CASE WHEN h % 33 = 0 THEN '  ' || upper(title) ELSE title END AS title,
    seniority, seniority_level, functional_area, department, industry,
    CASE WHEN h % 60 = 0 THEN 'Türkiye' ELSE country END AS country, state, city, location, connections, followers,
    company_name, company_domain, 'https://www.' || company_network_url || '/' AS company_network_url, updated_at
  FROM staged`;

/** Words of which the n-th most frequent comes 1/n as often as the first, as in texts that people write. */
const WORDS = 60_000;
const listSql = (words) => `['${words.join("', '")}']`;
const ENDS = listSql(["", "er", "ing", "s", "ß", "é", "ção", "ов", "-js", ".net", "ist", "ü"]);
const SYLLABLES = listSql(
  "ba co da el fi go hu in jo ka li mo na or pe qui ra so ta un ve wi xa yo zu tra ple sti kon gra".split(
    " ",
  ),
);
const syllable = (salt) => `(${SYLLABLES})[1 + (hash(n, ${salt}) % 30)::INTEGER]`;
const WORD = `concat(${syllable(1)}, CASE WHEN n > 20 THEN ${syllable(2)} END, CASE WHEN n > 900 THEN ${syllable(3)} END,
  (${ENDS})[1 + (hash(n, 4) % 12)::INTEGER])`;

/** `least` to `most` words, missing for one in `missing`; one in nine in capitals, one in thirteen with white space around. */
function text(salt, least, most, missing) {
  const h = `hash(id, ${salt})`;
  const words = `list_transform(range(${least} + (${h} % ${most - least + 1})::BIGINT),
    lambda place: word(floor(exp((hash(id, ${salt}, place) % 1000000) / 1000000.0 * ln(${WORDS})))::INTEGER))`;
  const plain = `array_to_string(${words}, ' ')`;
  return `CASE WHEN ${h} % ${missing} = 0 THEN NULL WHEN ${h} % 9 = 1 THEN upper(${plain}) WHEN ${h} % 13 = 2 THEN '  ' || ${plain} || ' '
    WHEN ${h} % 17 = 3 THEN ${plain} || ' ✨' ELSE ${plain} END`;
}

const DIRTY = `SELECT id, ${URLS}, ${text(1, 1, 3, 40)} AS name, first_name, last_name, ${text(2, 3, 16, 6)} AS headline,
    ${text(3, 1, 5, 20)} AS title, ${text(4, 1, 2, 9)} AS seniority, ${text(5, 1, 1, 5)} AS seniority_level, ${text(6, 1, 3, 7)} AS functional_area,
    CASE WHEN h % 3 = 0 THEN ${text(7, 1, 1, 50)} ELSE department END AS department, ${text(8, 1, 3, 6)} AS industry,
    ${text(9, 1, 1, 12)} AS country, ${text(10, 1, 2, 5)} AS state, ${text(11, 1, 2, 6)} AS city, CASE WHEN h % 4 = 0 THEN location END AS location,
    CASE h % 8 WHEN 0 THEN '500+' WHEN 1 THEN '1,234' WHEN 2 THEN connections || '.0' WHEN 3 THEN 'n/a' ELSE connections::VARCHAR END AS connections,
    CASE h % 9 WHEN 0 THEN followers || ' 000' WHEN 1 THEN '-' ELSE followers::VARCHAR END AS followers,
    ${text(12, 1, 4, 8)} AS company_name, CASE WHEN h % 5 > 0 THEN replace(company_domain, '.', CASE WHEN h % 6 = 0 THEN ' ' ELSE '.' END) END AS company_domain,
    CASE WHEN h % 3 > 0 THEN company_network_url END AS company_network_url,
    CASE h % 5 WHEN 0 THEN left(updated_at, 10) WHEN 1 THEN epoch(updated_at::TIMESTAMP)::BIGINT::VARCHAR WHEN 2 THEN 'yesterday'
      WHEN 3 THEN replace(updated_at, 'Z', '+02:00') ELSE updated_at END AS updated_at
  FROM staged`;

const TEN =
  "headline title seniority seniority_level functional_area industry country state city company_name".split(
    " ",
  );
const DISTINCT = `SELECT * EXCLUDE (h, address, company_address, place) REPLACE (${TEN.map(
  (field, index) => `concat_ws(' ', ${field}, left(md5(id || '${index}'), 24)) AS ${field}`,
).join(", ")}) FROM staged`;

if (process.argv[1]?.endsWith("strangers.mjs")) await write(process.argv.slice(2));

async function write([people, file, kind = "sample"]) {
  const { generateInto } = await import(join(ROOT, "dist/dataset/build/generate.js"));
  const { addNormalForms } = await import(join(ROOT, "dist/dataset/build/normal-sql.js"));
  const scratch = `${file}.scratch`;
  mkdirSync(scratch, { recursive: true });
  const instance = await DuckDBInstance.create(":memory:", { temp_directory: scratch });
  const connection = await instance.connect();
  await addNormalForms(connection);
  await generateInto({ connection, scratch }, { people: Number(people), seed: 7 });
  await connection.run(`CREATE TEMP MACRO word(n) AS ${WORD}`);
  await connection.run(
    "CREATE VIEW staged AS SELECT *, hash(id) % 1000000 AS h FROM staged_people",
  );
  const { [kind]: query } = { sample: SAMPLE, dirty: DIRTY, distinct: DISTINCT };
  await connection.run(
    `COPY (${query}) TO '${file.replaceAll("'", "''")}' (FORMAT parquet, COMPRESSION zstd)`,
  );
  instance.closeSync();
  rmSync(scratch, { recursive: true });
}
