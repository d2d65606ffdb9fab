import { describe, expect, test } from "vitest";
import { createKey } from "../../src/service/admin/keys.ts";
import { STANDARD_PLAN } from "../../src/service/ledger/ledger.ts";
import { COMPANY_FIELDS, PERSON_FIELDS } from "../../src/shared/contract/records.ts";
import { FILTER_KEYS } from "../../src/shared/contract/vocabulary.ts";
import { watchResponses } from "../support/openapi.ts";
import { onResponse, startTestService } from "../support/service.ts";
import { testService } from "../support/serving.ts";

watchResponses(onResponse);

const service = testService({ people: 2_000, plan: {} });

const balance = async (): Promise<number> =>
  (await service.call("/v1/account")).json.result.credits.remaining;

describe("GET /v1/account", () => {
  test("tells account, key, plan, credits, limits, costs and dataset, free of charge", async () => {
    const { headers, json, status } = await service.call("/v1/account");
    expect(status).toBe(200);
    expect(json).toEqual({
      status: true,
      detail: [],
      result: {
        account: { id: "default", name: "default" },
        key: {
          id: service.keyId,
          name: "live",
          mode: "live",
          prefix: expect.stringMatching(/^hc_live_/),
        },
        plan: { name: "standard" },
        credits: { remaining: 10_000, held: 0, used_today: 0 },
        rate_limits: { per_minute: 600, per_day: 100_000 },
        costs: {
          account: 0,
          person_count: 0,
          person_search: 1,
          company_enrich: 1,
          company_employees: 1,
        },
        limits: {
          per_page_max: 1_000,
          max_depth: null,
          count_cache_seconds: 300,
          idempotency_seconds: 86_400,
        },
        dataset: { version: expect.any(String), people: 2_000, companies: 286 },
      },
      credits_used: 0,
      credits_remaining: 10_000,
    });
    expect(headers.get("x-ratelimit-limit")).toBe("600");
    expect(headers.get("x-ratelimit-window")).toBe("minute");
    expect(Number(headers.get("x-ratelimit-reset"))).toBeGreaterThan(Date.now() / 1_000);
    expect(headers.get("x-request-id")).toMatch(/^[\w-]{36}$/);
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
  });

  test("tells the dataset that is served by now, also where nothing was booked since the last call", async () => {
    let info = { version: "first", people: 10, companies: 2 };
    const other = await startTestService({
      wrapEngine: (engine) => Object.assign(Object.create(engine), { info: () => info }),
    });
    const dataset = async () => (await other.call("/v1/account")).json.result.dataset;
    expect([await dataset(), await dataset()]).toEqual([info, info]);
    info = { version: "second", people: 11, companies: 3 };
    expect(await dataset()).toEqual(info);
    await other.close();
  });

  test("tells names of any script, and what was changed since the last call", async () => {
    const { store } = service;
    const name = 'Zoë "x" \\ 数据 🐘';
    const { key } = await createKey(store, { name, mode: "live", now: Date.now });
    const before = await service.call("/v1/account", { key });
    expect(before.json.result.key).toMatchObject({ name, prefix: expect.stringContaining("…") });
    await store.setPlan("default", { ...STANDARD_PLAN, name: "wide", perMinute: 601 });
    const after = await service.call("/v1/account", { key });
    await store.setPlan("default", STANDARD_PLAN);
    expect(after.json.result).toEqual({
      ...before.json.result,
      plan: { name: "wide" },
      rate_limits: { per_minute: 601, per_day: 100_000 },
    });
    expect((await service.call("/v1/account")).json.result.key.name).toBe("live");
  });

  test("does not repeat the secret of the key", async () => {
    const { text } = await service.call("/v1/account");
    expect(text).not.toContain(service.key);
  });
});

describe("POST /v1/person/count", () => {
  test("counts, then answers from the cache; equal filters share an entry", async () => {
    const before = await balance();
    const first = await service.call("/v1/person/count", {
      body: { filters: { department: ["Sales", "Legal"] } },
    });
    const again = await service.call("/v1/person/count", {
      body: { filters: { department: ["legal", "SALES"] } },
    });
    expect(first.json.result).toEqual({
      count: expect.any(Number),
      cached: false,
      as_of: expect.any(String),
      unmatched: [],
    });
    expect(again.json.result).toEqual({ ...first.json.result, cached: true });
    expect(first.headers.get("x-dataset-version")).toBe(service.engine.info().version);
    expect(await balance()).toBe(before);
  });

  test("counts everybody for {}", async () => {
    const { json } = await service.call("/v1/person/count", { body: { filters: {} } });
    expect(json.result.count).toBe(2_000);
  });
});

describe("POST /v1/person/search", () => {
  test("pages through exactly the people that were counted, each once, in one order for every per_page", async () => {
    const filters = { department: "Engineering and Technical" };
    const { json } = await service.call("/v1/person/count", { body: { filters } });
    const { count } = json.result;
    const orders: string[][] = [];
    for (const perPage of [7, 100]) {
      const ids: string[] = [];
      for (let page = 1; ; page++) {
        const answer = await service.call("/v1/person/search", {
          body: { filters, page, per_page: perPage },
        });
        expect(answer.status).toBe(200);
        expect(answer.json.credits_used).toBe(answer.json.result.length);
        expect(answer.headers.get("x-total-count")).toBe(String(count));
        expect(answer.headers.get("x-page")).toBe(String(page));
        expect(answer.headers.get("x-per-page")).toBe(String(perPage));
        for (const person of answer.json.result) {
          expect(Object.keys(person)).toEqual([...PERSON_FIELDS]);
          expect(person.department).toBe("Engineering and Technical");
          ids.push(person.id);
        }
        const last = ids.length >= count;
        expect(answer.headers.has("link")).toBe(!last);
        expect(answer.headers.has("x-next-cursor")).toBe(!last);
        if (last) break;
      }
      expect(new Set(ids).size).toBe(count);
      orders.push(ids);
    }
    expect(orders[0]).toEqual(orders[1]);
  });

  test("a cursor goes on where the page ended", async () => {
    const body = { filters: { department: "Sales" }, per_page: 5 };
    const first = await service.call("/v1/person/search", { body });
    const cursor = first.headers.get("x-next-cursor");
    const byCursor = await service.call("/v1/person/search", { body: { ...body, cursor } });
    const byPage = await service.call("/v1/person/search", { body: { ...body, page: 2 } });
    expect(byCursor.json.result).toEqual(byPage.json.result);
    expect(byCursor.headers.get("x-page")).toBe("2");
    const other = await service.call("/v1/person/search", {
      body: { filters: { department: "Legal" }, cursor },
    });
    expect(other.status).toBe(422);
    expect(other.json.detail[0]).toContain("another search");
    // Another place under the checksum of this one is no cursor.
    const [place = "", sum] = String(cursor).split(".");
    const [version, segment, offset] = JSON.parse(Buffer.from(place, "base64url").toString());
    const moved = Buffer.from(JSON.stringify([version, segment, offset + 1])).toString("base64url");
    const mutilated = await service.call("/v1/person/search", {
      body: { ...body, cursor: `${moved}.${sum}` },
    });
    expect([mutilated.status, mutilated.json.credits_used]).toEqual([422, 0]);
    const both = await service.call("/v1/person/search", { body: { ...body, cursor, page: 2 } });
    expect(both.status).toBe(422);
  });

  test("beyond the end, and with nobody matching: 200, no rows, no credits", async () => {
    const before = await balance();
    const beyond = await service.call("/v1/person/search", {
      body: { filters: {}, page: 9_007_199_254_740_991, per_page: 1_000 },
    });
    expect(beyond.status).toBe(200);
    expect(beyond.json).toMatchObject({ result: [], credits_used: 0, credits_remaining: before });
    expect(beyond.headers.get("x-total-count")).toBe("2000");
    const nobody = await service.call("/v1/person/search", {
      body: { filters: { name: "nobody at all" } },
    });
    expect(nobody.json).toMatchObject({ result: [], credits_used: 0, credits_remaining: before });
  });

  test("charges what it returns and gives the rest of the hold back", async () => {
    const before = await balance();
    const { json } = await service.call("/v1/person/search", {
      body: { filters: {}, per_page: 1_000, page: 2 },
    });
    expect(json.result).toHaveLength(1_000);
    const rest = await service.call("/v1/person/search", {
      body: { filters: {}, per_page: 600, page: 4 },
    });
    expect(rest.json.result).toHaveLength(200);
    expect(rest.json.credits_used).toBe(200);
    expect(rest.json.credits_remaining).toBe(before - 1_200);
  });
});

describe("companies", () => {
  const aCompany = async () => {
    const { json } = await service.call("/v1/person/search", {
      body: { filters: {}, per_page: 50 },
    });
    const person = json.result.find(
      (one: { company_domain: string | null }) => one.company_domain !== null,
    );
    return person as { company_domain: string; company_network_url: string; company_name: string };
  };

  test("is found by domain, address, slug and id; one credit each", async () => {
    const { company_domain, company_network_url } = await aCompany();
    const before = await balance();
    const byDomain = await service.call(
      `/v1/company/enrich?domain=${company_domain.toUpperCase()}`,
    );
    expect(byDomain.status).toBe(200);
    expect(Object.keys(byDomain.json.result)).toEqual([...COMPANY_FIELDS]);
    expect(byDomain.json).toMatchObject({ credits_used: 1, credits_remaining: before - 1 });
    const { id } = byDomain.json.result;
    const slug = company_network_url.replace(/.*\//, "");
    for (const query of [
      `company_network_url=${encodeURIComponent(`https://www.${company_network_url.replace(/^https?:\/\/(www\.)?/, "")}/?x=1`)}`,
      `company_network_url=${slug}`,
      `id=${id}`,
    ]) {
      const found = await service.call(`/v1/company/enrich?${query}`);
      expect([query, found.json.result?.id]).toEqual([query, id]);
    }
  });

  test("a miss is a free 404", async () => {
    const before = await balance();
    for (const path of ["enrich", "employees"]) {
      const miss = await service.call(`/v1/company/${path}?domain=nobody-here.example`);
      expect(miss.status).toBe(404);
      expect(miss.json).toMatchObject({
        status: false,
        result: null,
        credits_used: 0,
        credits_remaining: before,
      });
      expect(miss.json.detail[0]).toContain("nobody-here.example");
    }
  });

  test("lists the employees that a count on company_network_url promises", async () => {
    const { company_domain, company_network_url } = await aCompany();
    const filters = { company_network_url };
    const counted = await service.call("/v1/person/count", { body: { filters } });
    const listed = await service.call(
      `/v1/company/employees?domain=${company_domain}&per_page=1000`,
    );
    expect(listed.status).toBe(200);
    expect(listed.json.result).toHaveLength(counted.json.result.count);
    expect(listed.json.credits_used).toBe(counted.json.result.count);
    for (const person of listed.json.result) expect(person.company_domain).toBe(company_domain);
  });
});

describe("outside /v1", () => {
  test("/healthz, /openapi.json and /docs answer without a key", async () => {
    const health = await fetch(`${service.url}/healthz`);
    expect(await health.json()).toEqual({
      status: "ok",
      dataset_version: service.engine.info().version,
    });
    for (const path of ["/readyz", "/livez"]) {
      expect(await (await fetch(`${service.url}${path}`)).json()).toMatchObject({ status: "ok" });
    }
    const front = await fetch(service.url, { headers: { accept: "text/html,*/*" } });
    expect([front.status, front.headers.get("content-type")]).toEqual([
      200,
      "text/html; charset=utf-8",
    ]);
    const page = await front.text();
    for (const path of ["console", "docs"]) expect(page).toContain(`href="${path}"`);
    expect((await fetch(service.url, { headers: { accept: "*/*" } })).status).toBe(404);
    const document = (await (await fetch(`${service.url}/openapi.json`)).json()) as {
      openapi: string;
    };
    expect(document.openapi).toMatch(/^3\.0\./);
    const docs = await fetch(`${service.url}/docs`);
    expect(docs.headers.get("content-type")).toContain("text/html");
    expect(docs.headers.get("content-security-policy")).toContain("default-src");
  });
});

test("an unknown filter is named and the valid ones are listed", async () => {
  const { json, status } = await service.call("/v1/person/count", {
    body: '{"filters":{"departement":"Sales","__proto__":{"x":1},"constructor":1}}',
  });
  expect(status).toBe(422);
  const detail = json.detail.join("\n");
  for (const key of ["departement", "__proto__", "constructor", ...FILTER_KEYS])
    expect(detail).toContain(key);
});
