import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect } from "vitest";
import type { Person } from "../../../src/shared/contract/records.ts";
import { cases, LONG } from "../../support/campaign.ts";
import { charged, user, visibleFiles } from "../../support/export.ts";
import { long } from "../../support/long.ts";
import { startTestService, type TestService } from "../../support/service.ts";
import { spawnUser } from "../../support/spawned.ts";

// Accounts by their domains, killed at every durable write: look-ups, then people, within one cap, and nobody twice.

const CREDITS = 10_000_000;

let service: TestService;
let domains: string[];
beforeAll(async () => {
  service = await startTestService({
    people: 2_000,
    credits: CREDITS,
    plan: { perMinute: 1_000_000, perDay: 100_000_000 },
  });
  const { json } = await service.call("/v1/person/search", {
    body: { filters: {}, per_page: 200 },
  });
  domains = [
    ...new Set((json.result as Person[]).flatMap(({ company_domain: domain }) => domain ?? [])),
  ].slice(0, 5);
}, 60_000);
afterAll(() => service.close());

const WHO = ["--seniority-level", "senior", "--per-company", "3"];
const ARGV = ["employees", "crm.csv", "--keep-input", ...WHO, "-o", "p.csv"];

const customer = () => {
  const u = user(service.url, service.key);
  writeFileSync(
    u.file("crm.csv"),
    ["Account,Website", ...domains.map((domain, n) => `${n},${domain}`)].join("\n"),
  );
  return u;
};

long(
  "SIGKILL at every durable write in turn, then the same command again: the same file, and the cap holds",
  async () => {
    const calm = customer();
    const start = await charged(service, CREDITS);
    const whole = await calm.run([...ARGV, "--yes"]);
    expect(whole.code, whole.stderr).toBe(0);
    const cap = (await charged(service, CREDITS)) - start - 1;
    expect(cap).toBeGreaterThan(domains.length);
    const capped = [...ARGV, "--max-credits", String(cap)];
    const other = customer();
    expect(await other.run(capped)).toMatchObject({ code: 0 });
    const expected = other.read("p.csv");
    let points = 0;
    for (let step = 1; ; step += LONG ? 1 : 9) {
      const u = customer();
      const before = await charged(service, CREDITS);
      const killed = await spawnUser(u, capped, { HEADCOUNT_FAILPOINT: String(step) });
      if (killed.code === 0) break;
      expect({ step, code: killed.code }).toEqual({ step, code: 137 });
      points++;
      const isWhole = visibleFiles(u).includes("p.csv");
      const again = await spawnUser(u, capped);
      if (!isWhole || again.code !== 2) expect({ step, ...again }).toMatchObject({ step, code: 0 });
      expect({ step, file: u.read("p.csv") }).toEqual({ step, file: expected });
      expect({ step, spent: (await charged(service, CREDITS)) - before }).toEqual({
        step,
        spent: cap,
      });
    }
    expect(points).toBeGreaterThanOrEqual(cases(5, 40));
  },
  600_000,
);
