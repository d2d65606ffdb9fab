import createClient from "openapi-fetch";
import type { paths } from "./generated/openapi-typescript.d.ts";

const { BASE = "", KEY = "" } = process.env;
const client = createClient<paths>({ baseUrl: BASE, headers: { authorization: `Bearer ${KEY}` } });

/** What a call brought, where it worked. */
function worked<Data>({ data, response }: { data?: Data; response: Response }): Data {
  if (data === undefined) throw new Error(`${response.url}: ${response.status}`);
  return data;
}

const account = worked(await client.GET("/v1/account"));
const count = worked(
  await client.POST("/v1/person/count", { body: { filters: { department: "Sales" } } }),
);
const filters = {
  department: ["Sales", "Marketing"],
  country: "canada",
  connections_min: 1,
} satisfies Filters;
const first = await client.POST("/v1/person/search", { body: { filters, per_page: 2 } });
const second = await client.POST("/v1/person/search", { body: { filters, per_page: 2, page: 2 } });
const cursor = first.response.headers.get("x-next-cursor") ?? "";
const byCursor = await client.POST("/v1/person/search", {
  body: { filters, per_page: 2, cursor },
  params: { header: { "Idempotency-Key": "openapi-fetch-1" } },
});
const company = worked(
  await client.GET("/v1/company/enrich", { params: { query: { domain: "acme.example" } } }),
);
const miss = await client.GET("/v1/company/enrich", {
  params: { query: { domain: "nobody.example" } },
});
const invalid = await client.POST("/v1/person/count", {
  // @ts-expect-error: no such department
  body: { filters: { department: "Saless" } },
});
const employees = await client.GET("/v1/company/employees", {
  params: { query: { domain: "acme.example", per_page: 3 } },
});
type Filters =
  paths["/v1/person/search"]["post"]["requestBody"]["content"]["application/json"]["filters"];

console.log(
  JSON.stringify({
    remaining: account.result.credits.remaining,
    count: count.result.count,
    first: worked(first).result.map(({ id }) => id),
    second: worked(second).result.map(({ id }) => id),
    byCursor: worked(byCursor).result.map(({ id }) => id),
    company: company.result.domain,
    miss: [miss.response.status, miss.error?.detail],
    invalid: [invalid.response.status, invalid.error?.detail[0]],
    employees: worked(employees).result.map((person) => person.company_domain),
  }),
);
