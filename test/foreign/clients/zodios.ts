import { isAxiosError } from "axios";
import { createApiClient } from "./generated/zodios.ts";

const { BASE = "", KEY = "" } = process.env;
const api = createApiClient(BASE, { axiosConfig: { headers: { authorization: `Bearer ${KEY}` } } });
let cursor = "";
api.axios.interceptors.response.use((response) => {
  cursor = String(response.headers["x-next-cursor"] ?? "");
  return response;
});

/** Status and detail of a call that is refused. */
async function refused(call: Promise<unknown>): Promise<readonly [number, readonly string[]]> {
  try {
    await call;
  } catch (error) {
    if (isAxiosError<{ detail: string[] }>(error) && error.response)
      return [error.response.status, error.response.data.detail];
    throw error;
  }
  throw new Error("it was not refused");
}

const account = await api.getAccount();
const count = await api.countPeople({ filters: { department: "Sales" } });
const filters = {
  department: ["Sales" as const, "Marketing" as const],
  country: "canada",
  connections_min: 1,
};
const first = await api.searchPeople({ filters, per_page: 2 });
const next = cursor;
const second = await api.searchPeople({ filters, per_page: 2, page: 2 });
const byCursor = await api.searchPeople(
  { filters, per_page: 2, cursor: next },
  { headers: { "Idempotency-Key": "zodios-1" } },
);
const company = await api.enrichCompany({ queries: { domain: "acme.example" } });
const miss = await refused(api.enrichCompany({ queries: { domain: "nobody.example" } }));
// Past the client's own checks, which know the departments.
const [status, detail] = await refused(
  api.axios.post("/v1/person/count", { filters: { department: "Saless" } }),
);
// @ts-expect-error: no such department
const checked: Parameters<typeof api.countPeople>[0] = { filters: { department: "Saless" } };
if (checked === undefined) throw new Error("never");
const employees = await api.listEmployees({ queries: { domain: "acme.example", per_page: 3 } });

console.log(
  JSON.stringify({
    remaining: account.result.credits.remaining,
    count: count.result.count,
    first: first.result.map(({ id }) => id),
    second: second.result.map(({ id }) => id),
    byCursor: byCursor.result.map(({ id }) => id),
    company: company.result.domain,
    miss,
    invalid: [status, detail[0]],
    employees: employees.result.map((person) => person.company_domain),
  }),
);
