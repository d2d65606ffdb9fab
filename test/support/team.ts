import { createDecipheriv } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { constants, gunzipSync } from "node:zlib";
import { folderKeyOf, openSealed } from "../../src/engine/share/seal.ts";
import { tempDir } from "./client.ts";
import { type User, user } from "./export.ts";
import { ran } from "./ran.ts";

/** Several machines, each with a state folder of its own, and the folder that they share. */
export interface Team {
  readonly folder: string;
  readonly key: string;
  readonly machines: readonly User[];
}

/** One of a team: its name stands in its state folder as a real one's does. */
export function machineNamed(
  name: string,
  url: string,
  apiKey: string,
  more: Readonly<Record<string, string>> = {},
): User {
  const me = user(url, apiKey, more);
  mkdirSync(join(me.dir, "state"), { recursive: true, mode: 0o700 });
  const id = Buffer.from(name).toString("hex").padEnd(32, "0").slice(0, 32);
  writeFileSync(join(me.dir, "state", "machine"), `${id} ${name}\n`, { mode: 0o600 });
  return me;
}

/** The first makes the folder's key, and the others have it in their environment. */
export async function teamOf(names: readonly string[], url: string, apiKey: string): Promise<Team> {
  const folder = tempDir("headcount-team-");
  const [first = "", ...others] = names;
  const one = machineNamed(first, url, apiKey);
  const { stderr } = await ran(one, ["sync", folder, "--insecure-storage"]);
  const [key = ""] = /hcsync_[\w-]{43}/.exec(stderr) ?? [];
  const more = { HEADCOUNT_SYNC_KEY: key };
  return {
    folder,
    key,
    machines: [one, ...others.map((name) => machineNamed(name, url, apiKey, more))],
  };
}

/** All files below a folder, by path. */
export function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
}

/**
 * What stands in the sealed files of a team's folder, opened with its key: of a torn one what
 * whoever has the key could still make of it.
 */
export function openedFiles({ folder, key }: Pick<Team, "folder" | "key">): Map<string, string> {
  const opened = new Map<string, string>();
  for (const path of filesBelow(folder)) {
    const name = path.slice(folder.length + 1);
    const bytes = readFileSync(path);
    const own = folderKeyOf(key);
    // A draft is called after the file that it was to be.
    const kinds = ["runs", "lists", "removed", "machines", "segments", "histories"].map(
      (kind) => `${kind}/${name.split("/").at(-1)}`,
    );
    const [plain = own ? openedPartly(own, bytes) : bytes] = kinds.flatMap(
      (each) => (own && openSealed(own, each, bytes)) || [],
    );
    opened.set(name, plain.toString("utf8"));
  }
  return opened;
}

/** As `openSealed`, which believes nothing that is not whole. */
function openedPartly(key: Buffer, bytes: Buffer): Buffer {
  if (!bytes.subarray(0, 4).equals(Buffer.from("HCS1")) || bytes.length < 33) return bytes;
  const packed = createDecipheriv("aes-256-gcm", key, bytes.subarray(4, 16)).update(
    bytes.subarray(32),
  );
  try {
    return gunzipSync(packed, { finishFlush: constants.Z_SYNC_FLUSH });
  } catch {
    return packed;
  }
}
