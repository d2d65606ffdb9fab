import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { openDataset } from "../../src/dataset/embedded/open.ts";
import { fakeClock } from "../support/client.ts";
import { charged, readCsv, type User, user } from "../support/export.ts";
import { faultProxy } from "../support/fault-proxy.ts";
import { generatedDataset, startTestService, type TestService } from "../support/service.ts";

const CREDITS = 100_000;
const DAY = 86_400_000;

/** A service whose dataset moves: another one behind the same address and the same ledger. */
async function movingService() {
  let service: TestService = await startTestService({ people: 600, credits: CREDITS });
  let engine: Awaited<ReturnType<typeof openDataset>> | undefined;
  const close = async (): Promise<void> => {
    await service.close();
    await engine?.close();
  };
  const { key, ledger } = service;
  const port = Number(new URL(service.url).port);
  return {
    key,
    url: service.url,
    charged: () => charged(service, CREDITS),
    async move(people: number): Promise<void> {
      await close();
      engine = await openDataset(await generatedDataset(people));
      service = await startTestService({ engine, ledger, port });
    },
    close,
  };
}

/** Rows that a count says there are. */
async function count(of: User, department: string): Promise<number> {
  return Number((await of.run(["count", "--department", department])).stdout);
}

test("a week of jobs: a dataset that moves, a service that is down, a typo, a reply that is lost, a budget", async () => {
  const service = await movingService();
  const proxy = await faultProxy({ target: service.url });
  const u = user(proxy.url, service.key);
  const clock = fakeClock(Date.UTC(2026, 10, 2, 12));
  const write = (legal: object, budget = "1000/month"): void => {
    const daily = { command: "search", schedule: "0 0 * * *", max_shrink: "60%" };
    const document = {
      ...{ budget, log: "log.ndjson", notify: "cat >> told.ndjson" },
      jobs: {
        sales: {
          ...daily,
          filters: { department: "Sales" },
          max_credits: 150,
          output: "sales.csv",
          per_page: 10,
        },
        legal: { ...daily, max_credits: 60, output: "legal.csv", ...legal },
      },
    };
    writeFileSync(
      u.file("jobs.jsonc"),
      `// weekday jobs\n${JSON.stringify(document, undefined, 2)}`,
    );
  };
  const LEGAL = { filters: { department: "Legal" } };
  const today = async (more: readonly string[] = [], interrupt?: { at: number }) => {
    let stop = (): void => undefined;
    let paid = 0;
    const before = proxy.decide;
    if (interrupt !== undefined) {
      proxy.decide = (request) => {
        if (request.paid > 0 && ++paid === interrupt.at) stop();
        return before(request);
      };
    }
    const ran = await u.run(["jobs", "run", "--file", "jobs.jsonc", "--json", ...more], {
      clock,
      before: (context) => {
        stop = () => context.interrupt();
      },
    });
    proxy.decide = before;
    const outcomes = JSON.parse(ran.stdout) as {
      job: string;
      exit_code: number;
      rows: number;
      credits: number;
    }[];
    clock.advance(DAY);
    // Every credit that was charged is explained, each day.
    const spend = (await u.json(["spend", "--by", "job", "--since", "all", "--json"], {
      clock,
    })) as {
      total: { settled: number; uncertain: number };
    };
    expect(spend.total.settled + spend.total.uncertain).toBe(await service.charged());
    return { code: ran.code, of: Object.fromEntries(outcomes.map((one) => [one.job, one])) };
  };
  const files = () => [u.read("sales.csv"), u.read("legal.csv")];

  // Monday: both have never run.
  write(LEGAL);
  const sales = await count(u, "Sales");
  const legal = await count(u, "Legal");
  expect(await today()).toMatchObject({
    code: 0,
    of: { sales: { rows: sales, credits: sales }, legal: { rows: legal } },
  });

  // Tuesday: the dataset has moved, each file is the new one.
  await service.move(640);
  const moved = await count(u, "Sales");
  const tuesday = await today();
  expect(tuesday).toMatchObject({ code: 0, of: { sales: { rows: moved, rows_before: sales } } });
  expect(readCsv(u.read("sales.csv")).length).toBe(moved);

  // Wednesday: a typo in one job. The other runs, the file of the one stays.
  const [, legalBefore] = files();
  write({ filters: { department: "Legla" } });
  expect(await today()).toMatchObject({
    code: 2,
    of: { sales: { exit_code: 0 }, legal: { exit_code: 2, credits: 0 } },
  });
  expect(u.read("legal.csv")).toBe(legalBefore);

  // Thursday: the service is down.
  write(LEGAL);
  const good = files();
  proxy.decide = () => ({ kind: "error", status: 503 });
  expect(await today()).toMatchObject({
    code: 8,
    of: { sales: { exit_code: 8, credits: 0 }, legal: { exit_code: 8, credits: 0 } },
  });
  expect(files()).toEqual(good);
  proxy.decide = () => ({ kind: "none" });

  // Friday: stopped in the middle, and a reply lost on the way. Nothing is bought twice when it goes on.
  await service.move(650);
  const other = await count(u, "Sales");
  proxy.decide = ({ paid }) => (paid % 3 === 0 && paid > 0 ? { kind: "drop" } : { kind: "none" });
  const before = await service.charged();
  const stopped = await today([], { at: 3 });
  expect(stopped).toMatchObject({ code: 130, of: { sales: { exit_code: 130 } } });
  expect(stopped.of.legal).toBeUndefined();
  expect(files()).toEqual(good);
  const friday = await today();
  expect(friday).toMatchObject({
    code: 0,
    of: { sales: { rows: other }, legal: { exit_code: 0 } },
  });
  expect((await service.charged()) - before).toBe(other + (friday.of.legal?.rows ?? 0));
  proxy.decide = () => ({ kind: "none" });

  // Saturday: stopped in the middle, and the dataset moves before it goes on: what was begun makes no list with the rest.
  await service.move(660);
  await today([], { at: 2 });
  await service.move(600);
  const fresh = await today();
  expect(fresh).toMatchObject({ code: 0, of: { sales: { rows: sales } } });
  expect(readCsv(u.read("sales.csv")).length).toBe(sales);

  // Sunday: the dataset has shrunk by more than is believed, and the budget of the month is nearly used up.
  const whole = files();
  await service.move(120);
  expect(await today()).toMatchObject({
    code: 5,
    of: { sales: { exit_code: 5, credits: 0 }, legal: { exit_code: 5, credits: 0 } },
  });
  expect(files()).toEqual(whole);
  await service.move(610);
  const spent = await service.charged();
  write(LEGAL, `${spent + 60}/month`);
  expect(await today()).toMatchObject({
    code: 4,
    of: { sales: { exit_code: 4, credits: 0 }, legal: { exit_code: 0 } },
  });
  expect(await service.charged()).toBeLessThanOrEqual(spent + 60);
  expect(u.read("sales.csv")).toBe(whole[0]);

  const lines = u
    .read("log.ndjson")
    .trim()
    .split("\n")
    .map(
      (line) =>
        JSON.parse(line) as {
          credits: number;
          status: string;
          changed: boolean | null;
          exit_code: number;
        },
    );
  // The log tells the same story as the spending, and every failure and change was told.
  expect(lines.reduce((sum, { credits }) => sum + credits, 0)).toBe(await service.charged());
  const told = u.read("told.ndjson").trim().split("\n").length;
  expect(told).toBe(
    lines.filter(
      ({ status, changed, exit_code }) =>
        (status === "failed" && exit_code !== 130) || changed === true,
    ).length,
  );
  await proxy.close();
  await service.close();
});
