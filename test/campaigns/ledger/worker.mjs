// The program under test of the fault rigs: a plain process over the built ledger. It writes what it is about to do and what was
// acknowledged to a file, one JSON line each, so that the rig knows what must be there after the process is gone.
// Usage: node worker.mjs life STORE-MODULE LEDGER ACK-FILE OPTIONS-JSON
//        node worker.mjs vacuum STORE-MODULE LEDGER ACK-FILE OPTIONS-JSON
//        node worker.mjs spend STORE-MODULE      (commands as JSON lines on stdin, results as JSON lines on stdout)
import { openSync, statSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [mode, module, ...rest] = process.argv.slice(2);
const { openSqliteStore } = await import(pathToFileURL(module).href);
const MICROS = 1_000_000n;

const answer = (name) => (balance) => ({
  status: 200,
  headers: { "x-name": name },
  body: `${name} ${balance}`,
});

const holdOf = (name, credits, idempotent) => ({
  accountId: "acme",
  mode: "live",
  keyId: "k3",
  call: "person_search",
  amount: BigInt(credits) * MICROS,
  requestId: name,
  ...(idempotent ? { idempotency: { key: `key-${name}`, requestHash: `hash-${name}` } } : {}),
});

/** What a life does, written down before and after. */
async function begin(path, ackPath, options) {
  const ack = openSync(ackPath, "a");
  const line = (entry) => writeSync(ack, `${JSON.stringify(entry)}\n`);
  /**
   * With `tolerant`, an action that is refused is written down and the rest goes on; with `fragile` too, the process dies. What `lies` is
   * for controls: what is acknowledged before it is done, or although it was refused, is missing afterwards.
   */
  const act = async (entry, work) => {
    line({ try: entry });
    if (options.lies === "early") line({ ack: entry });
    try {
      const value = await work();
      if (options.lies !== "early") line({ ack: entry });
      return value;
    } catch (error) {
      if (options.lies === "always") line({ ack: entry });
      if (options.lies === "always") return undefined;
      if (!options.tolerant) throw error;
      line({ refused: entry, name: error.name, message: error.message });
      if (options.fragile) process.kill(process.pid, "SIGKILL");
      return undefined;
    }
  };
  const store = await act({ kind: "open" }, () =>
    openSqliteStore({ path, now: Date.now, ...options.store }),
  );
  const charge = async (name, credits, posted, idempotent) => {
    const outcome = await act({ kind: "hold", name }, () =>
      store.hold(holdOf(name, credits, idempotent)),
    );
    if (outcome?.kind !== "held") return;
    await act({ kind: "settle", name, posted: String(BigInt(posted) * MICROS), idempotent }, () =>
      store.settle({
        holdId: outcome.holdId,
        amount: BigInt(posted) * MICROS,
        reply: answer(name),
      }),
    );
  };
  const grant = (note, credits) =>
    act({ kind: "grant", note, amount: String(BigInt(credits) * MICROS) }, () =>
      store.grant("acme", "live", BigInt(credits) * MICROS, note),
    );
  return { store, act, charge, grant };
}

/** One of everything that the ledger does, then `rounds` groups of charges. */
async function life(path, ackPath, options) {
  const { store, act, charge, grant } = await begin(path, ackPath, options);
  if (store === undefined) return;
  const key = (id, digit) => ({
    id,
    name: id,
    mode: "live",
    prefix: "hc_live_x",
    hash: digit.repeat(64),
    accountId: "acme",
    createdAt: 1,
  });
  await act({ kind: "account" }, () => store.createAccount("acme", "Acme"));
  await grant("first", 1000);
  await act({ kind: "key", hash: "1".repeat(64) }, () => store.createKey(key("k1", "1")));
  // What all is charged to, with a cap: its budget moves in every commit that moves money.
  await act({ kind: "key", hash: "3".repeat(64) }, () =>
    store.createKey({ ...key("k3", "3"), maxCredits: 1000n * MICROS }),
  );
  await charge("plain", 25, 7, false);
  await charge("keyed", 25, 25, true);
  await charge("empty", 5, 0, true);
  const given = await act({ kind: "hold", name: "given-back" }, () =>
    store.hold(holdOf("given-back", 40, true)),
  );
  if (given?.kind === "held")
    await act({ kind: "release", name: "given-back" }, () => store.release(given.holdId));
  await grant("top-up", 5);
  await act({ kind: "key", hash: "2".repeat(64) }, () => store.createKey(key("k2", "2")));
  await act({ kind: "revoke", hash: "1".repeat(64) }, async () => {
    if (!(await store.revokeKey("k1"))) throw new Error("there is no key to revoke");
  });
  // Of a day to come: one long past is forgotten by the first heartbeat, ten seconds on.
  await act({ kind: "calls", count: 3 }, () =>
    store.recordCalls([{ keyId: "k1", day: "2999-01-01", count: 3 }]),
  );
  for (let round = 0; round < options.rounds; round += 1) {
    await Promise.all(
      Array.from({ length: options.width }, (_, n) =>
        charge(`group-${round}-${n}`, 3, 1 + (n % 3), n % 2 === 0),
      ),
    );
  }
  await act({ kind: "hold", name: "never-settled" }, () =>
    store.hold(holdOf("never-settled", 10, true)),
  );
  await act({ kind: "close" }, () => store.close());
}

/** A ledger whose stored replies have had their day: they are pruned, their room given back, and the file is built again, with charges between. */
async function vacuum(path, ackPath, options) {
  const { store, act, charge } = await begin(path, ackPath, options);
  const size = statSync(path).size;
  await charge("first", 3, 2, true);
  const given = await act({ kind: "tidy" }, async () => {
    for (let waited = 0; waited < 10_000; waited += 5) {
      if (statSync(path).size < size && statSync(`${path}-wal`).size === 0) return true;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    return false;
  });
  if (!given) throw new Error("the heartbeat gave no room back");
  await Promise.all(["a", "b", "c"].map((name) => charge(name, 3, 3, true)));
  if (!(await act({ kind: "wipe" }, () => store.people.wipe())))
    throw new Error("the file was not built again");
  await charge("last", 3, 1, true);
  await act({ kind: "close" }, () => store.close());
}

/** Spends from one account together with other workers, as told line by line. */
async function spend() {
  for await (const text of createInterface({ input: process.stdin })) {
    const { path, calls, amount, charge, wide } = JSON.parse(text);
    const store = await openSqliteStore({ path, now: Date.now, patienceMs: 60_000 });
    const result = { held: 0, insufficient: 0, charged: "0", errors: [] };
    let charged = 0n;
    let left = calls;
    const client = async () => {
      while (left > 0) {
        left -= 1;
        try {
          const outcome = await store.hold({
            ...holdOf("spend", 0, false),
            amount: BigInt(amount),
          });
          if (outcome.kind !== "held") {
            result.insufficient += 1;
            continue;
          }
          result.held += 1;
          const settled = await store.settle({
            holdId: outcome.holdId,
            amount: BigInt(charge),
            reply: answer("spend"),
          });
          if (settled.balance < 0n) result.errors.push(`a balance of ${settled.balance}`);
          charged += BigInt(charge);
        } catch (error) {
          result.errors.push(String(error));
        }
      }
    };
    await Promise.all(Array.from({ length: wide }, client));
    await store.close();
    result.charged = String(charged);
    process.stdout.write(`${JSON.stringify(result)}\n`);
  }
}

if (mode === "spend") await spend();
else await (mode === "life" ? life : vacuum)(rest[0], rest[1], JSON.parse(rest[2]));
