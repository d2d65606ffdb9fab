import { client } from "./generated/hey-api/client.gen.ts";
import {
  countPeople,
  enrichCompany,
  getAccount,
  listEmployees,
  searchPeople,
} from "./generated/hey-api/index.ts";
import type { Filters } from "./generated/hey-api/types.gen.ts";

const { BASE = "", KEY = "" } = process.env;
client.setConfig({ baseUrl: BASE, auth: () => KEY });

const throwOnError = true;
const { data: account } = await getAccount({ throwOnError });
const { data: count } = await countPeople({
  body: { filters: { department: "Sales" } },
  throwOnError,
});
const filters: Filters = {
  department: ["Sales", "Marketing"],
  country: "canada",
  connections_min: 1,
};
const first = await searchPeople({ body: { filters, per_page: 2 }, throwOnError });
const second = await searchPeople({ body: { filters, per_page: 2, page: 2 }, throwOnError });
const cursor = first.response.headers.get("x-next-cursor") ?? "";
const byCursor = await searchPeople({
  body: { filters, per_page: 2, cursor },
  headers: { "Idempotency-Key": "hey-api-1" },
  throwOnError,
});
const { data: company } = await enrichCompany({ query: { domain: "acme.example" }, throwOnError });
const miss = await enrichCompany({ query: { domain: "nobody.example" } });
// @ts-expect-error: no such department
const invalid = await countPeople({ body: { filters: { department: "Saless" } } });
const { data: employees } = await listEmployees({
  query: { domain: "acme.example", per_page: 3 },
  throwOnError,
});

console.log(
  JSON.stringify({
    remaining: account.result.credits.remaining,
    count: count.result.count,
    first: first.data.result.map(({ id }) => id),
    second: second.data.result.map(({ id }) => id),
    byCursor: byCursor.data.result.map(({ id }) => id),
    company: company.result.domain,
    miss: [miss.response?.status, miss.error?.detail],
    invalid: [invalid.response?.status, invalid.error?.detail[0]],
    employees: employees.result.map((person) => person.company_domain),
  }),
);
