import { user } from "../../support/export.ts";
import type { Fault } from "../../support/fault-proxy.ts";
import { startTestService, type TestService } from "../../support/service.ts";

/** What the account begins with. */
export const CREDITS = 10_000_000;

/** A service for one campaign, without a limit of calls. */
export const startService = (): Promise<TestService> =>
  startTestService({
    people: 2_000,
    credits: CREDITS,
    plan: { perMinute: 1_000_000, perDay: 100_000_000 },
  });

/** A search of so many people for a file. */
export const argvFor = (limit: number, perPage: number): string[] => [
  "search",
  "--department",
  "Sales",
  "--limit",
  String(limit),
  "--per-page",
  String(perPage),
  "--yes",
  "-o",
  "p.csv",
];

/** The file of a run that nothing befalls. */
export async function quietly(service: TestService, argv: readonly string[]): Promise<string> {
  const calm = user(service.url, service.key);
  await calm.ran(argv);
  return calm.read("p.csv");
}

export function anyFault(random: () => number): Fault {
  const faults: Fault[] = [
    { kind: "drop" },
    { kind: "cut", bytes: Math.floor(random() * 3_000) },
    { kind: "duplicate" },
    { kind: "reset" },
    { kind: "error", status: 500 },
    { kind: "html", status: 502, charged: random() > 0.5 },
    { kind: "drip", bytes: 3, pauseMs: 1 },
    { kind: "error", status: 429, headers: { "retry-after": "1" } },
  ];
  return faults[Math.floor(random() * faults.length)] ?? { kind: "none" };
}
