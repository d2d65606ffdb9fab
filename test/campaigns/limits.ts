import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { expect } from "vitest";
import { tempDir } from "../support/client.ts";
import { serving } from "../support/serve-command.ts";
import { generatedDataset } from "../support/service.ts";
import { BIN } from "../support/spawned.ts";
import type { Campaign, Course } from "./campaign.ts";

/**
 * The built service at the limits of its machine: few file descriptors, little memory, a clock that is a day off. It may refuse; it
 * may not fall over, answer outside the envelope, or book wrongly.
 */
const FAKETIME = ["x86_64", "aarch64"]
  .map((machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketime.so.1`)
  .find((path) => existsSync(path));

/** Of the account that a new data folder has. */
const GRANTED = 10_000;

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

/** A data folder that was made with room: only serving has to get by with little. */
interface Place {
  readonly data: string;
  /** Instead of the sample, which takes a while to make. */
  readonly dataset: string | undefined;
  readonly key: string;
}

async function serve(place: Place, limits: Limits = {}): Promise<Served> {
  const { before = "", flags = "", wrapper = "" } = limits;
  const dataset = place.dataset === undefined ? "" : `--dataset "${place.dataset}"`;
  const program = `"${process.execPath}" ${flags} "${BIN}"`;
  const command = `${before} exec ${wrapper} ${program} serve --port 0 --json --data "${place.data}" ${dataset}`;
  const child = spawn("bash", ["-c", command], {
    env: { PATH: process.env.PATH, HOME: place.data },
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
  const { key = place.key, url } = JSON.parse(line) as { url: string; key?: string };
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

async function search(
  served: Served,
  rows: number,
  id: string,
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

async function balanceOf(served: Served): Promise<number> {
  const answer = await fetch(`${served.url}/v1/account`, {
    headers: { authorization: `Bearer ${served.key}` },
  });
  return ((await answer.json()) as { credits_remaining: number }).credits_remaining;
}

/** Right after a flood a connection may still be turned away; the same key makes trying again safe. */
async function searchUntilAnswered(served: Served, rows: number, id: string): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt++) {
    const answer = await search(served, rows, id).catch(() => undefined);
    if (answer?.status === 200) return answer.used;
    await new Promise((wake) => setTimeout(wake, 50));
  }
  throw new Error("the service does not recover");
}

/** With 64 file descriptors it outlives idle connections, and books what it answers. */
async function playDescriptors(place: Place, { isBroken, isWhole }: Course): Promise<void> {
  const served = await serve(place, { before: "ulimit -n 64;" });
  const before = await balanceOf(served);
  const port = Number(new URL(served.url).port);
  const idle: Socket[] = [];
  for (let index = 0; index < (isWhole ? 300 : 100); index++) {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => undefined);
    idle.push(socket);
  }
  await new Promise((wake) => setTimeout(wake, 300));
  for (const socket of idle) socket.destroy();

  let used = 0;
  for (let index = 0; index < 20; index++) {
    const id = createHash("sha256").update(`order ${index}`).digest("hex");
    used += await searchUntilAnswered(served, 5, id);
  }
  if (isBroken) await searchUntilAnswered(served, 5, "another-key");
  expect(used).toBe(100);
  const paid = before - (await balanceOf(served));
  expect(await served.stop()).toBe(0);
  expect(`${paid} credits`).toBe("100 credits");
}

/** With 64 MB of heap it serves pages of 1,000 side by side. */
async function playMemory(place: Place): Promise<void> {
  const served = await serve(place, { flags: "--max-old-space-size=64" });
  const before = await balanceOf(served);
  const pages = Array.from({ length: 8 }, (_, n) => search(served, 1_000, `page-${n}`));
  const answers = await Promise.all(pages);
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
  expect(before - (await balanceOf(served))).toBe(8_000);
  expect(await served.stop()).toBe(0);
}

/** Started a day ahead and then a day back: balances stay, every order is charged once. */
async function playClocks(place: Place): Promise<void> {
  let left = GRANTED - 100 - 8_000;
  for (const [clock, id] of [
    ["+1d", "tomorrow"],
    ["-1d", "yesterday"],
  ] as const) {
    const wrapper = `env FAKETIME=${clock} DONT_FAKE_MONOTONIC=1 LD_PRELOAD=${FAKETIME}`;
    const served = await serve(place, { wrapper });
    expect(await search(served, 7, id)).toEqual({ status: 200, used: 7 });
    expect(await search(served, 7, id)).toEqual({ status: 200, used: 7 });
    left -= 7;
    expect(await balanceOf(served)).toBe(left);
    expect(await served.stop()).toBe(0);
  }
}

/** A folder with its key and its dataset. */
async function makePlace({ isWhole }: Course): Promise<Place> {
  const data = join(tempDir(), "data");
  const dataset = isWhole ? undefined : await generatedDataset(1_000);
  const argv = ["serve", "--port", "0", "--json", "--data", data];
  if (dataset !== undefined) argv.push("--dataset", dataset);
  let key = "";
  const { code, err } = await serving(argv, async (line) => {
    ({ key } = JSON.parse(line) as { key: string });
  });
  expect(code, err).toBe(0);
  return { data, dataset, key };
}

export const limits: Campaign = {
  name: "limits",
  seed: 1,
  cases: { quick: 1, whole: 1 },
  canRun: FAKETIME !== undefined,
  control: { without: "the key of a call that is repeated", seen: /^expected '105 credits'/ },

  async run(course) {
    const place = await makePlace(course);
    await playDescriptors(place, course);
    await playMemory(place);
    await playClocks(place);
    const argv = [BIN, "service", "verify", "--data", place.data];
    const { status, stdout } = spawnSync(process.execPath, argv, { env: { HOME: place.data } });
    expect(status, String(stdout)).toBe(0);
    return {};
  },
};
