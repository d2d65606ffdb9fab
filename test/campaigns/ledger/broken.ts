import { randomUUID } from "node:crypto";
import type { HoldRequest, Store } from "../../../src/service/ledger/ledger.ts";
import { credits } from "../../../src/shared/contract/money.ts";

// Stores that do wrong, for the controls: what plays them must notice.

const exchanged = (store: Store, others: Partial<Store>): Store =>
  new Proxy(store, {
    get: (of, name) => {
      const own: unknown = Reflect.get(others, name);
      if (own !== undefined) return own;
      const value: unknown = Reflect.get(of, name, of);
      return typeof value === "function" ? value.bind(of) : value;
    },
  });

/** Charges for each call twice. @param requests what was held, where several stores are on one ledger */
export function doubling(store: Store, requests = new Map<string, HoldRequest>()): Store {
  return exchanged(store, {
    hold: async (request) => {
      const outcome = await store.hold(request);
      if (outcome.kind === "held") requests.set(outcome.holdId, request);
      return outcome;
    },

    settle: async (settlement) => {
      const settled = await store.settle(settlement);
      const request = requests.get(settlement.holdId);
      if (request === undefined) return settled;

      const { idempotency: _, ...plain } = request;
      const { amount } = settlement;
      const again = await store.hold({ ...plain, amount, requestId: randomUUID() });
      if (again.kind === "held") await store.settle({ ...settlement, holdId: again.holdId });
      return settled;
    },
  });
}

/** Charges nothing for every second call. */
export function losing(store: Store): Store {
  let calls = 0;
  return exchanged(store, {
    settle: (settlement) => {
      calls += 1;
      return store.settle(calls % 2 === 0 ? { ...settlement, amount: credits(0n) } : settlement);
    },
  });
}
