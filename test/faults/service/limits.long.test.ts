import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";
import { tempDir } from "../../support/client.ts";
import { isLeftOut } from "../../support/tools.ts";

/**
 * The built service at the limits of its machine: few file descriptors, little memory, a clock that is a day off. It may refuse; it
 * may not fall over, answer outside the envelope, or book wrongly.
 */
const BIN = resolve(import.meta.dirname, "../../../bin/headcount.js");

interface Served {
  readonly url: string;
  readonly key: string;
  readonly child: ChildProcess;
  stop(): Promise<number | null>;
}

interface Limits {
  /** A shell command that sets a limit. */
  readonly before?: string;
  /** A program that runs the service. */
  readonly wrapper?: string;
  /** Flags of Node. */
  readonly flags?: string;
}

/** Runs the built `serve` on a data folder. */
async function serve(data: string, limits: Limits = {}): Promise<Served> {
  const { before = "", wrapper = "", flags = "" } = limits;
  const command = `${before} exec ${wrapper} "${process.execPath}" ${flags} "${BIN}" serve --port 0 --json --data "${data}"`;
  const child = spawn("bash", ["-c", command], {
    env: { PATH: process.env.PATH, HOME: data },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  child.stderr?.on("data", (bytes: Buffer) => {
    said += bytes.toString();
  });
  const ended = new Promise<number | null>((done) => child.once("exit", (code) => done(code)));
  const line = await Promise.race([
    new Promise<string>((done) =>
      child.stdout?.once("data", (bytes: Buffer) => done(bytes.toString())),
    ),
    ended.then((code) => Promise.reject(new Error(`serve ended with ${code}: ${said}`))),
  ]);
  const { url, key = "" } = JSON.parse(line) as { url: string; key?: string };
  return {
    url,
    key,
    child,
    stop: () => {
      child.kill("SIGTERM");
      return ended;
    },
  };
}

const verify = (data: string): number | null =>
  spawnSync(process.execPath, [BIN, "service", "verify", "--data", data], { env: { HOME: data } })
    .status;

async function search(
  served: Served,
  rows: number,
  id: string = randomUUID(),
): Promise<{ status: number; used: number }> {
  const answer = await fetch(`${served.url}/v1/person/search`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${served.key}`,
      "content-type": "application/json",
      "idempotency-key": id,
    },
    body: JSON.stringify({ filters: {}, per_page: rows }),
  });
  const envelope = (await answer.json()) as { credits_used: number };
  return { status: answer.status, used: envelope.credits_used };
}

async function balance(served: Served): Promise<number> {
  const answer = await fetch(`${served.url}/v1/account`, {
    headers: { authorization: `Bearer ${served.key}` },
  });
  return ((await answer.json()) as { credits_remaining: number }).credits_remaining;
}

describe("the service at the limits of its machine", () => {
  test("with 64 file descriptors it outlives 300 idle connections, and books what it answers", async () => {
    const data = join(tempDir(), "data");
    // The sample is made with room; only serving has to get by with little.
    const roomy = await serve(data);
    await roomy.stop();
    const served = { ...(await serve(data, { before: "ulimit -n 64;" })), key: roomy.key };
    const port = Number(new URL(served.url).port);
    const idle: Socket[] = [];
    for (let index = 0; index < 300; index++) {
      const socket = connect(port, "127.0.0.1");
      socket.on("error", () => undefined);
      idle.push(socket);
    }
    await new Promise((wake) => setTimeout(wake, 300));
    for (const socket of idle) socket.destroy();
    let used = 0;
    for (let index = 0; index < 20; index++) {
      // Right after the flood a connection may still be turned away; the same key makes trying again safe.
      const id = createHash("sha256").update(`order ${index}`).digest("hex");
      for (let attempt = 0; ; attempt++) {
        const answer = await search(served, 5, id).catch(() => undefined);
        if (answer?.status === 200) {
          used += answer.used;
          break;
        }
        if (attempt > 100) throw new Error("the service does not recover");
        await new Promise((wake) => setTimeout(wake, 50));
      }
    }
    expect(used).toBe(100);
    expect(await balance(served)).toBe(9_900);
    expect(await served.stop()).toBe(0);
    expect(verify(data)).toBe(0);
  });

  test("with 64 MB of heap it serves pages of 1,000 side by side", async () => {
    const data = join(tempDir(), "data");
    // Whoever makes the sample, once, holds its 50,000 people.
    const maker = await serve(data);
    expect(await maker.stop()).toBe(0);
    const served = { ...(await serve(data, { flags: "--max-old-space-size=64" })), key: maker.key };
    const answers = await Promise.all(Array.from({ length: 8 }, () => search(served, 1_000)));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
    expect(await balance(served)).toBe(2_000);
    expect(await served.stop()).toBe(0);
    expect(verify(data)).toBe(0);
  });

  const faketime = ["x86_64", "aarch64"]
    .map((machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketime.so.1`)
    .find((path) => existsSync(path));
  test.skipIf(isLeftOut(faketime !== undefined))(
    "started a day ahead and then a day back: balances stay, every order is charged once",
    async () => {
      const data = join(tempDir(), "data");
      const first = await serve(data);
      expect(await search(first, 5, "today")).toEqual({ status: 200, used: 5 });
      expect(await first.stop()).toBe(0);
      for (const [clock, id] of [
        ["+1d", "tomorrow"],
        ["-1d", "yesterday"],
      ]) {
        const served = {
          ...(await serve(data, {
            wrapper: `env FAKETIME=${clock} DONT_FAKE_MONOTONIC=1 LD_PRELOAD=${faketime}`,
          })),
          key: first.key,
        };
        expect(await search(served, 7, id)).toEqual({ status: 200, used: 7 });
        expect(await search(served, 7, id)).toEqual({ status: 200, used: 7 });
        expect(await served.stop()).toBe(0);
        expect(verify(data)).toBe(0);
      }
      const last = { ...(await serve(data)), key: first.key };
      expect(await balance(last)).toBe(10_000 - 5 - 7 - 7);
      await last.stop();
    },
  );
});
