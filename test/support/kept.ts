import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { type DataFolder, openDataFolder } from "../../src/service/admin/data-folder.ts";
import { createKey } from "../../src/service/admin/keys.ts";
import { type RunningService, startService } from "../../src/service/http/server.ts";
import { headcount } from "./serve-command.ts";

/** Somebody all of whose texts are nobody else's. */
export const CANARY = {
  id: "p_canary_7741",
  network_url: "https://network.example/in/zebulon-quux",
  name: "Zebulon Quuxington",
  first_name: "Zebulon",
  last_name: "Quuxington",
  headline: "Keeper of the unrepeatable canary headline",
  title: "Wrangler of canaries extraordinaire",
  department: "Sales",
  country: "Germany",
  connections: 4711,
} as const;

/** What is the person's alone; `zebulon` is in the normal forms. */
export const CANARY_TEXTS: readonly string[] = [
  ...[CANARY.id, "zebulon-quux", "Zebulon", "zebulon", "Quuxington", "quuxington"],
  ...["unrepeatable canary headline", "Wrangler of canaries", "wrangler of canaries"],
];

const FILLER = Array.from({ length: 240 }, (_, n) => ({
  id: `p_${String(n).padStart(6, "0")}`,
  network_url: `https://network.example/in/person-number-${n}`,
  name: `Person ${n} Number`,
  headline: `Does things, the ${n}th`,
  department: n % 3 === 0 ? "Sales" : "Marketing",
  country: n % 2 === 0 ? "Germany" : "France",
  company_domain: `company-${n % 12}.example`,
}));

/** A data folder with 241 people, the canary among them. */
export async function folderWithCanary(dir: string, more: readonly string[] = []): Promise<void> {
  const file = `${dir}-people.ndjson`;
  writeFileSync(
    file,
    [...FILLER.slice(0, 100), CANARY, ...FILLER.slice(100)]
      .map((one) => JSON.stringify(one))
      .join("\n"),
  );
  const { code, err } = await headcount(
    "service",
    "import",
    "--people",
    file,
    "--data",
    dir,
    ...more,
  );
  if (code !== 0) throw new Error(err);
}

export const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());

/** The bytes of a file, and what is packed into them: gzip members, wherever they begin. */
function* layersOf(bytes: Buffer): Generator<Buffer> {
  yield bytes;
  const magic = Buffer.from([0x1f, 0x8b, 0x08]);
  for (let at = bytes.indexOf(magic); at >= 0; at = bytes.indexOf(magic, at + 1)) {
    try {
      yield gunzipSync(bytes.subarray(at), { finishFlush: 2 });
    } catch {
      // Bytes that look like the beginning of one.
    }
  }
}

/** Files of a folder in which one of the texts is found by its bytes, with the texts. */
export function holding(folder: string, texts: readonly string[]): string[] {
  return filesIn(folder).flatMap((path) => {
    const found = new Set<string>();
    for (const layer of layersOf(readFileSync(path))) {
      for (const text of texts) {
        if (layer.includes(text) || layer.includes(Buffer.from(text, "utf16le"))) found.add(text);
      }
    }
    return [...found].map((text) => `${path}: ${text}`);
  });
}

export interface ServedFolder extends RunningService {
  readonly folder: DataFolder;
  readonly store: DataFolder["store"];
  readonly key: string;
  readonly keyId: string;
}

/** A service over a data folder, as `headcount serve` runs it. `close` closes both. */
export async function serveFolder(
  dir: string,
  options: {
    readonly now?: () => number;
    readonly monotonic?: () => number;
    readonly store?: string;
  } = {},
): Promise<ServedFolder> {
  const folder = await openDataFolder(dir, options);
  const now = options.now ?? Date.now;
  const { id, key } = await createKey(folder.store, { name: "canary", mode: "live", now });
  const { store: _, ...clocks } = options;
  const service = await startService({
    ...folder,
    ...clocks,
    console: {},
    timeouts: { facet: 60_000 },
  });
  return {
    ...service,
    folder,
    store: folder.store,
    key,
    keyId: id,
    async close() {
      await service.close();
      await folder.close();
    },
  };
}
