import type { DuckDBConnection, DuckDBDataChunk, DuckDBVector } from "@duckdb/node-api";
import { canonicalAddress, canonicalDomain, normalForm, slugOf } from "../../contract/normalise.ts";

// They give what contract/normalise.ts gives, NULL where nothing is left. Plain ASCII takes a path inside DuckDB, the rest goes to JavaScript.
export async function addNormalForms(connection: DuckDBConnection): Promise<void> {
  await registerText(connection, "js_normal_form", (text) => normalForm(text) || null);
  await registerText(connection, "js_address_form", (text) => canonicalAddress(text) ?? null);
  await registerText(connection, "js_domain_form", (text) => canonicalDomain(text) ?? null);
  await registerText(connection, "js_slug_of", slugOf);
  const macros = {
    normal_form: "WHEN regexp_full_match(x, '[!-~]+( [!-~]+)*') THEN lower(x) ELSE js_normal_form(x)",
    address_form:
      "WHEN regexp_full_match(x, '[a-z0-9_.~-]+(/[a-z0-9_.~-]+)*') AND NOT starts_with(x, 'www.') AND NOT contains(x, 'xn--') THEN x ELSE js_address_form(x)",
    domain_form:
      "WHEN regexp_full_match(x, '[a-z0-9_-]+(\\.[a-z0-9_-]+)+') AND NOT starts_with(x, 'www.') AND NOT contains(x, 'xn--') THEN x ELSE js_domain_form(x)",
    slug_of: "WHEN NOT contains(x, '/') THEN x ELSE regexp_extract(x, '[^/]*$')",
  };
  for (const [name, cases] of Object.entries(macros)) {
    await connection.run(`CREATE OR REPLACE TEMP MACRO ${name}(x) AS CASE WHEN x IS NULL THEN NULL ${cases} END`);
  }
}

async function registerText(
  connection: DuckDBConnection,
  name: string,
  convert: (text: string) => string | null,
): Promise<void> {
  const { DuckDBScalarFunction, VARCHAR } = await import("@duckdb/node-api");
  connection.registerScalarFunction(
    DuckDBScalarFunction.create({
      name,
      returnType: VARCHAR,
      parameterTypes: [VARCHAR],
      mainFunction: (_info, input: DuckDBDataChunk, output: DuckDBVector) => {
        const column = input.getColumnVector(0);
        for (let row = 0; row < input.rowCount; row++) {
          const value = column.getItem(row);
          output.setItem(row, typeof value === "string" ? convert(value) : null);
        }
        output.flush();
      },
    }),
  );
}
