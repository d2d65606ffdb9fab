// node strangers.mjs PEOPLE FILE: writes a Parquet file of the sample's people as other systems write them.
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { ROOT } from "./harness.mjs";

const [people, file] = process.argv.slice(2);
const { generateInto } = await import(join(ROOT, "dist/dataset/build/generate.js"));
const { addNormalForms } = await import(join(ROOT, "dist/dataset/build/normal-sql.js"));
const instance = await DuckDBInstance.create(":memory:", { temp_directory: `${file}.spill` });
const connection = await instance.connect();
await addNormalForms(connection);
await generateInto(connection, { people: Number(people), seed: 7 });
await connection.run(`COPY (
  SELECT id,
    CASE WHEN h % 50 > 0 THEN 'https://www.' || CASE WHEN h % 7 = 0 THEN upper(network_url) ELSE network_url END ||
      CASE WHEN h % 11 = 0 THEN '/?utm=x' WHEN h % 5 = 0 THEN '/' ELSE '' END END AS network_url,
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
  FROM (SELECT *, hash(id) % 1000000 AS h FROM staged_people)
) TO '${file.replaceAll("'", "''")}' (FORMAT parquet, COMPRESSION zstd)`);
instance.closeSync();
