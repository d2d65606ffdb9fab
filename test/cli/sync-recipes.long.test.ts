import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, expect } from "vitest";
import { charged, type User } from "../support/export.ts";
import { long } from "../support/long.ts";
import { ok, ran } from "../support/ran.ts";
import { startTestService, type TestService } from "../support/service.ts";
import { type Shell, startShell } from "../support/shell.ts";
import { machineNamed, teamOf } from "../support/team.ts";

// The recipes of docs/how-to/sync.md, as they stand there.

const CREDITS = 100_000;
const PAGE = readFileSync(resolve(import.meta.dirname, "../../docs/how-to/sync.md"), "utf8");
let service: TestService;
let shell: Shell;
beforeAll(async () => {
  service = await startTestService({ people: 2_000, credits: CREDITS });
  shell = await startShell();
});
afterAll(async () => {
  shell.close();
  await service.close();
});

const recipe = (title: string): string =>
  new RegExp(`## ${title}\\n[\\s\\S]*?\`\`\`text\\n([\\s\\S]*?)\`\`\``).exec(PAGE)?.[1] ?? "";
const names = (text: string): number => text.trim().split("\n").length - 1;

long("a CI runner that begins with an empty state folder pays nobody twice", async () => {
  const { folder, key } = await teamOf(["laptop"], service.url, service.key);
  const spent: number[] = [];
  for (const week of ["first", "second"]) {
    const runner = machineNamed(week, service.url, service.key);
    const checkout = join(dirname(folder), week);
    mkdirSync(checkout, { recursive: true });
    const lines = recipe("A CI runner").replaceAll("../team", `../${basename(folder)}`);
    const before = await charged(service, CREDITS);
    const { code, stderr } = await shell.bash(lines, checkout, { ...runner.env, KEY: key });
    // The second week nobody is new.
    expect(code, stderr).toBe(0);
    spent.push((await charged(service, CREDITS)) - before);
    const rows = names(readFileSync(join(checkout, "new.csv"), "utf8"));
    expect(rows).toBe(spent.at(-1));
  }
  expect(spent[0]).toBeGreaterThan(0);
  expect(spent[1]).toBe(0);
});

long("a team of three owns what one of them bought, by the lines that each has", async () => {
  const { folder, key, machines } = await teamOf(["ada"], service.url, service.key);
  const [ada] = machines as [User];
  await ok(ada, ["search", "--department", "Sales", "--limit", "3", "--yes", "-o", "s.csv"]);
  const all = [ada];
  const lines = recipe("A team of three").replaceAll("/mnt/team", folder);
  for (const name of ["grace", "mary"]) {
    const me = machineNamed(name, service.url, service.key);
    all.push(me);
    writeFileSync(join(me.dir, "key.txt"), `${key}\n`);
    const { code, stderr } = await shell.bash(lines, me.dir, me.env);
    expect(code, stderr).toBe(0);
  }

  const last = lines.trim().split("\n").at(-1) ?? "";
  for (const me of [...all, ...all])
    await ran(me, last.split(" ").slice(1), { env: { HEADCOUNT_SYNC_KEY: key } });
  for (const me of all) expect(await ok(me, ["count", "--owned"])).toBe("3\n");
});
