import { spawn } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Person } from "../../src/shared/contract/records.ts";
import { asTyped } from "../support/as-typed.ts";
import { charged, readCsv, user } from "../support/export.ts";
import { faultProxy } from "../support/fault-proxy.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { BIN, spawnUser } from "../support/spawned.ts";

const CREDITS = 100_000;
let service: TestService;
let domains: string[];
beforeAll(async () => {
  service = await startTestService({
    people: 2_000,
    credits: CREDITS,
  });
  const page = await service.call("/v1/person/search", { body: { filters: {}, per_page: 1_000 } });
  const people = page.json.result as Person[];
  domains = [...new Set(people.flatMap(({ company_domain: domain }) => domain ?? []))].slice(0, 40);
}, 60_000);
afterAll(() => service.close());

test("a table whose enrichment is killed stays as it was; the same command, or resume, ends with every row, each company paid once", async () => {
  const rows = [...domains, "", ...domains.slice(0, 5)].map(
    (domain, index) => `${index},${domain}`,
  );
  const table = `Id,Website\n${rows.join("\n")}\n`;
  const argv = asTyped`enrich crm.csv --column Website --keep-input --yes -o out.csv`;
  for (const way of [argv, ["resume", "--yes"]]) {
    const before = await charged(service, CREDITS);
    const proxy = await faultProxy({ target: service.url });
    try {
      const u = user(proxy.url, service.key);
      writeFileSync(u.file("crm.csv"), table);
      proxy.decide = ({ paid }) =>
        (paid > 0 ? { kind: "delay", ms: 20 } : { kind: "none" }) as never;
      const child = spawn(process.execPath, [BIN, ...argv], {
        cwd: u.dir,
        env: { PATH: process.env.PATH ?? "", ...u.env },
      });
      const ended = new Promise((resolve) => child.on("close", resolve));
      while (proxy.seen.filter(({ paid }) => paid > 0).length < 12)
        await new Promise((resolve) => setTimeout(resolve, 5));
      child.kill("SIGKILL");
      await ended;
      expect([readFileSync(u.file("crm.csv"), "utf8"), existsSync(u.file("out.csv"))]).toEqual([
        table,
        false,
      ]);
      const whole = await spawnUser(u, way);
      expect(whole.code, whole.stderr).toBe(0);
      const out = readCsv(u.read("out.csv"));
      expect(out.map(({ Id, Website }) => `${Id},${Website}`)).toEqual(rows);
      expect(out.every(({ Website, hc_domain: domain }) => Website === domain)).toBe(true);
      expect(out.filter(({ hc_match: match }) => match === "found")).toHaveLength(rows.length - 1);
      expect((await charged(service, CREDITS)) - before).toBe(domains.length);
      expect(u.read("crm.csv")).toBe(table);
    } finally {
      await proxy.close();
    }
  }
});
