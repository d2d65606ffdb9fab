import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { asTyped } from "../support/as-typed.ts";
import { charged, readCsv, runIds } from "../support/export.ts";
import type { FaultProxy } from "../support/fault-proxy.ts";
import { CREDITS, type Serving, serveThroughProxy } from "../support/serving.ts";
import { BIN, spawnUser } from "../support/spawned.ts";
import { isLeftOut } from "../support/tools.ts";

const UNSHARE = ["--pid", "--fork", "--mount-proc", "--kill-child"];
const CAN_UNSHARE = spawnSync("unshare", [...UNSHARE, "true"]).status === 0;
let { service, proxy, u } = {} as Serving & { proxy: FaultProxy };
serveThroughProxy((now) => ({ service, proxy, u } = now));

test("a run whose reader had enough is no hindrance to a bare resume, and the same command goes on without paying twice", async () => {
  const search = ["search", "--department", "Sales", "--limit", "100", "--per-page", "10", "--yes"];
  const before = await charged(service, CREDITS);
  const line = `${process.execPath} ${BIN} ${search.join(" ")} | head -1`;
  const child = spawn("bash", ["-c", line], {
    cwd: u.dir,
    env: { PATH: process.env.PATH ?? "", ...u.env },
  });
  await new Promise((done) => child.on("close", done));
  expect(JSON.parse((await u.run(["runs", "--json"])).stdout)).toMatchObject([
    { status: "closed", problem: "the reader closed the pipe" },
  ]);
  const bare = await u.run(["resume"]);
  expect(bare).toMatchObject({ code: 0, stdout: "" });
  expect(bare.stderr).toMatch(
    /no run is unfinished; headcount resume \S+ goes on with one whose reader closed the pipe/,
  );
  const again = await spawnUser(u, search);
  expect({ code: again.code, rows: again.stdout.trim().split("\n").length }).toEqual({
    code: 0,
    rows: 100,
  });
  expect({ runs: runIds(u).length, spent: (await charged(service, CREDITS)) - before }).toEqual({
    runs: 1,
    spent: 100,
  });
});

describe.skipIf(isLeftOut(CAN_UNSHARE))(
  "two containers with one state folder and one host name",
  () => {
    const SEARCH = asTyped`search --department Sales --limit 60 --per-page 20 --concurrency 1 --yes`;

    function inside(argv: readonly string[]): {
      child: ChildProcess;
      ended: Promise<{ code: number | null; stderr: string }>;
    } {
      const child = spawn("unshare", [...UNSHARE, process.execPath, BIN, ...argv], {
        cwd: u.dir,
        env: { PATH: process.env.PATH ?? "", ...u.env },
        stdio: ["ignore", "ignore", "pipe"],
      });
      let stderr = "";
      child.stderr?.on("data", (chunk: Buffer) => {
        stderr += chunk.toString();
      });
      return {
        child,
        ended: new Promise((done) => child.on("close", (code) => done({ code, stderr }))),
      };
    }

    test("a run that is at work is not taken over; one that was killed is, and no page is paid for twice", async () => {
      const before = await charged(service, CREDITS);
      let held = true;
      proxy.decide = ({ paid }) =>
        held && paid === 2 ? { kind: "delay", ms: 60_000 } : { kind: "none" };
      const argv = [...SEARCH, "-o", "p.csv"];
      const first = inside(argv);
      while (proxy.seen.filter(({ paid }) => paid > 0).length < 2)
        await new Promise((wait) => setTimeout(wait, 20));
      const second = await inside(argv).ended;
      expect(second.code).toBe(9);
      expect(second.stderr).toContain("in another container since");
      expect((await inside(["resume"]).ended).stderr).toContain("Nothing to resume");
      expect(JSON.parse((await u.run(["runs", "--json"])).stdout)).toMatchObject([
        { status: "running", rows: 20 },
      ]);
      first.child.kill("SIGKILL");
      await first.ended;
      held = false;
      expect(await inside(argv).ended).toMatchObject({ code: 0 });
      expect(new Set(readCsv(u.read("p.csv")).map(({ id }) => id)).size).toBe(60);
      expect((await charged(service, CREDITS)) - before).toBe(60);
    }, 60_000);
  },
);
