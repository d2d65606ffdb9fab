import {
  lstatSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Disk, type DiskStep, patiently } from "../../src/engine/runs/disk.ts";
import { systemFailure } from "../../src/shared/errors.ts";
import { tempDir } from "../support/client.ts";
import { long } from "../support/long.ts";

test("a file is replaced whole, for its owner alone, and writes through nothing that somebody else made", async () => {
  const folder = tempDir();
  const path = join(folder, "r.json");
  const victim = join(folder, "victim.txt");
  writeFileSync(victim, "mine");
  symlinkSync(victim, `${path}.tmp`);
  await new Disk().replaceFile(path, "new", "receipt");
  expect(readFileSync(victim, "utf8")).toBe("mine");
  expect(readFileSync(path, "utf8")).toBe("new");
  expect(statSync(path).mode & 0o777).toBe(0o600);
  // Where the name itself is a link, the link is replaced, not what it names.
  const linked = join(folder, "link.json");
  symlinkSync(victim, linked);
  await new Disk().replaceFile(linked, "new", "receipt");
  expect([readFileSync(victim, "utf8"), lstatSync(linked).isSymbolicLink()]).toEqual([
    "mine",
    false,
  ]);
});

test("where the disk is full the old file stays, and nothing beside it", async () => {
  const folder = tempDir();
  const path = join(folder, "r.json");
  writeFileSync(path, "old");
  for (const at of ["before", "half", "synced"] as const) {
    const step: DiskStep = (_, now) => {
      if (now === at) throw Object.assign(new Error("ENOSPC"), { code: "ENOSPC" });
    };
    await expect(new Disk(step).replaceFile(path, "new", "receipt")).rejects.toThrow("ENOSPC");
    expect({ files: readdirSync(folder), text: readFileSync(path, "utf8") }).toEqual({
      files: ["r.json"],
      text: "old",
    });
  }
});

test("a quota that is used up is said in words, although libuv has none for it", () => {
  const words = "Unknown system error -122: Unknown system error -122, fsync";
  const failure = systemFailure(
    Object.assign(new Error(words), {
      code: "Unknown system error -122",
      errno: -122,
      syscall: "fsync",
    }),
  );
  expect(failure).toMatchObject({
    exitCode: 5,
    message: "the disk quota is used up: EDQUOT, fsync",
  });
});

long(
  "on Windows a file that somebody reads is replaced a moment later, and given up after that",
  async () => {
    const busy = (times: number, code = "EPERM") => {
      let calls = 0;
      const work = async () => {
        if (++calls <= times) throw Object.assign(new Error(code), { code });
        return calls;
      };
      return work;
    };
    expect(await patiently(busy(2), "win32")).toBe(3);
    await expect(patiently(busy(9, "EBUSY"), "win32")).rejects.toThrow("EBUSY");
    // Elsewhere, and where something else is the matter, a second time would be no other.
    await expect(patiently(busy(1), "linux")).rejects.toThrow("EPERM");
    await expect(patiently(busy(1, "ENOSPC"), "win32")).rejects.toThrow("ENOSPC");
  },
);
