import { afterAll, beforeAll, expect, test } from "vitest";
import { canonicalAddress } from "../../src/shared/contract/naming/address.ts";
import { user } from "../support/export.ts";
import { type FaultProxy, faultProxy } from "../support/fault-proxy.ts";
import { startTestService, type TestService } from "../support/service.ts";

let service: TestService;
let proxy: FaultProxy;
beforeAll(async () => {
  service = await startTestService({ people: 1_500, credits: 1_000_000 });
  proxy = await faultProxy({ target: service.url });
});
afterAll(async () => {
  await proxy.close();
  await service.close();
});

/** Every profile address in a request, wherever it stands in it. */
function addressesIn(body: string): string[] {
  if (body === "") return [];
  const { filters = {} } = JSON.parse(body) as { filters?: { network_url?: string | string[] } };
  return [filters.network_url ?? []].flat().map((one) => canonicalAddress(one) ?? one);
}

test("a service sees no address of somebody who was not bought, nor named by the user", async () => {
  const me = user(proxy.url, service.key);
  const owned = async (): Promise<Set<string>> => {
    const { code, stdout } = await me.run(["owned", "export", "--format", "ndjson"]);
    expect([0, 2]).toContain(code);
    const lines = code === 0 ? stdout.split("\n").filter((line) => line !== "") : [];
    return new Set(
      lines.map(
        (line) => canonicalAddress((JSON.parse(line) as { network_url: string }).network_url) ?? "",
      ),
    );
  };
  const given = "network.example/in/somebody-else";
  let asked = 0;
  for (const argv of [
    ["count", "--department", "Sales", "--by", "country"],
    ["search", "--department", "Sales", "--limit", "40", "--yes"],
    ["search", "--department", "Sales", "--yes", "--new-only"],
    ["search", "--department", "Sales", "--sample", "10", "--seed", "1", "--yes", "--again"],
    ["refresh", "--department", "Sales", "-o", "list.ndjson", "--yes"],
    ["refresh", "list.ndjson", "--yes", "--verify-fields", "title"],
    ["search", "--network-url", given, "--yes", "--min-rows", "0"],
    ["search", "--department", "Legal", "--with-owned", "--yes"],
  ]) {
    const [before, seen] = [await owned(), proxy.seen.length];
    const { code, stderr } = await me.run(argv);
    expect([argv.join(" "), code, code === 0 ? "" : stderr]).toEqual([argv.join(" "), 0, ""]);
    const known = new Set([...before, ...(await owned()), given]);
    const addresses = proxy.seen.slice(seen).flatMap(({ body }) => addressesIn(body));
    expect([argv.join(" "), addresses.filter((address) => !known.has(address))]).toEqual([
      argv.join(" "),
      [],
    ]);
    asked += addresses.length;
  }
  // It is about something: lists of owned people were asked about.
  expect(asked).toBeGreaterThan(100);
});
