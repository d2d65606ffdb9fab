import { expect } from "vitest";
import { fakeClock } from "../../support/client.ts";
import { charged, readCsv, seeded, user } from "../../support/export.ts";
import { faultProxy } from "../../support/fault-proxy.ts";
import type { Campaign } from "../campaign.ts";
import { anyFault, CREDITS, startService } from "./scene.ts";

// A run of many pages, a third of them faulty, is charged exactly once a row.
export const network: Campaign = {
  name: "network",
  seed: 20_260_115,
  cases: { quick: 25, whole: 2_000 },
  // Its cap holds all the same: the rows that were paid twice are missing at the end.
  control: { without: "the keys of the calls", seen: /^expected (?:\{ code: 5, |'\d+ credits')/ },

  async run({ cases, isBroken, seed }) {
    const service = await startService();
    const random = seeded(seed);
    const proxy = await faultProxy({
      target: service.url,
      withoutKeys: isBroken,
      decide: ({ paid }) => (paid === 0 || random() > 0.3 ? { kind: "none" } : anyFault(random)),
    });
    try {
      const u = user(proxy.url, service.key);
      const argv = [
        "search",
        "--all",
        "--limit",
        String(cases),
        "--per-page",
        "1",
        "--yes",
        "-o",
        "p.csv",
      ];
      let ran = await u.run(argv, { clock: fakeClock(Date.now()) });
      // Ten faults in a row at one page end a run; the same command goes on.
      for (let again = 0; again < 5 && ran.code === 8; again++)
        ran = await u.run(argv, { clock: fakeClock(Date.now()) });

      const paid = await charged(service, CREDITS);
      expect(`${paid} credits`).toBe(`${cases} credits`);
      expect(ran).toMatchObject({ code: 0 });
      expect(new Set(readCsv(u.read("p.csv")).map(({ id }) => id)).size).toBe(cases);
      const lost = (proxy.done.get("drop") ?? 0) + (proxy.done.get("cut") ?? 0);
      expect(lost).toBeGreaterThan(cases / 50);
      return { pages: cases, lost };
    } finally {
      await proxy.close();
      await service.close();
    }
  },
};
