import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { openSqliteStore } from "../../../src/service/ledger/sqlite.ts";
import { verifySqliteFile } from "../../../src/service/ledger/sqlite-file.ts";
import {
  type DataFolder,
  everything,
  flip,
  serveHurt,
  suppressionFiles,
  verify,
} from "../../campaigns/ledger/data-folder.ts";
import { tempDir } from "../../support/client.ts";
import { seededRandom } from "../../support/exactness.ts";
import { headcount } from "../../support/serve-command.ts";
import { ACCOUNT, answer, c, fund, held } from "../../support/store.ts";

// What a service does with a damaged folder. That verify finds each bit is `npm run campaign flips`.

describe("a data folder with a damaged file", () => {
  let scene: DataFolder;
  let data = "";
  beforeAll(async () => {
    scene = await everything();
    data = scene.data;
    expect(await verify(data)).toMatchObject({ code: 0, sound: true, ledger: [], dataset: [] });
  });

  test("lets no service start on something else in its place", async () => {
    const ledger = join(data, "ledger.db");
    for (const [path, hurt, told] of [
      [
        join(data, "dataset/CURRENT"),
        () => rmSync(join(data, "dataset/CURRENT")),
        /CURRENT is gone and v-/,
      ],
      [
        ledger,
        () => rmSync(ledger),
        /ledger\.db is gone and its seal .* is there: put the ledger back/,
      ],
      [ledger, () => writeFileSync(ledger, ""), /ledger\.db is empty and its seal .* is there/],
    ] as const) {
      const sound = readFileSync(path);
      hurt();
      const { code, err } = await headcount("serve", "--data", data, "--port", "0");
      expect(err).toMatch(told);
      expect(code).not.toBe(0);
      writeFileSync(path, sound);
      expect(await verify(data)).toMatchObject({ code: 0, sound: true });
    }
  });

  test("brings nobody back who was taken out: pages are refused and cost nothing, or are looked through", async () => {
    for (const path of suppressionFiles(data)) {
      const sound = readFileSync(path);
      const restore = flip(path, 8 * Math.floor(sound.length / 2) + 3);
      await serveHurt(scene, path);
      restore();
      rmSync(path);
      await serveHurt(scene, path);
      writeFileSync(path, sound, { mode: 0o600 });
    }
  });
});

test("a bit that flips in the index of a killed service's log is scratch: what comes up is all that was acknowledged", async () => {
  const place = tempDir();
  const store = await openSqliteStore({ path: join(place, "ledger.db"), now: Date.now });
  await fund(store, 100);
  for (let n = 0; n < 9; n += 1)
    await store.settle({ holdId: await held(store, c(4)), amount: c(3), reply: answer() });
  const kept = ["", "-wal", "-shm"].map(
    (end) => [end, readFileSync(join(place, `ledger.db${end}`))] as const,
  );
  const random = seededRandom(19);
  const dir = tempDir();
  for (let trial = 0; trial < 20; trial += 1) {
    const path = join(dir, `${trial}.db`);
    for (const [end, bytes] of kept) writeFileSync(path + end, bytes);
    // The first hundred bytes say how far the log goes, the next where its pages are.
    flip(`${path}-shm`, Math.floor(random() * (trial % 2 === 0 ? 136 : 2_048) * 8));
    expect(
      (await verifySqliteFile(path)).breaches.filter(
        (breach) => !breach.includes("-wal is damaged"),
      ),
    ).toEqual([]);
    const again = await openSqliteStore({ path, now: Date.now });
    expect((await again.balance(ACCOUNT, "live")).balance).toBe(c(73));
    expect(await again.verify()).toEqual([]);
    await again.close();
  }
  await store.close();
});
