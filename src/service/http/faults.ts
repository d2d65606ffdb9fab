import { CALL_NAMES, type CallName } from "./calls.ts";

/** What an injected fault does. `drop` and `cut` happen after the charge: the reply is lost, wholly or in part. */
export type FaultAction =
  | { readonly kind: "status"; readonly status: 429 | 500 }
  | { readonly kind: "drop" }
  | { readonly kind: "cut"; readonly bytes: number }
  | { readonly kind: "slow"; readonly ms: number };

export interface Fault {
  readonly call: CallName | "all";
  readonly probability: number;
  readonly times: number;
  readonly action: FaultAction;
}

export const FAULT_SYNTAX = `CALL[:p=0..1][:n=TIMES]:ACTION, where CALL is ${CALL_NAMES.join(", ")} or all, and ACTION is 500, 429, drop (charge, then lose the reply), cut=BYTES (lose it after so many bytes) or slow=MS`;

/** Reads one `--fault`: `search:p=0.1:500`, `search:drop`, `all:n=3:slow=2000`; undefined where the text is none. */
export function parseFault(text: string): Fault | undefined {
  const [call, ...parts] = text.split(":");
  if (call !== "all" && !CALL_NAMES.some((name) => name === call)) return undefined;
  let probability = 1;
  let times = Number.POSITIVE_INFINITY;
  let action: FaultAction | undefined;
  for (const part of parts) {
    const [name = "", value] = part.split("=", 2);
    const number = value === undefined || !/^\d+(\.\d+)?$/.test(value) ? undefined : Number(value);
    if (name === "p" && number !== undefined && number <= 1) probability = number;
    else if (name === "n" && number !== undefined && Number.isSafeInteger(number)) times = number;
    else if (action !== undefined) return undefined;
    else if ((part === "500" || part === "429") && value === undefined) {
      action = { kind: "status", status: part === "500" ? 500 : 429 };
    } else if (part === "drop") action = { kind: "drop" };
    else if (name === "cut" && number !== undefined && Number.isSafeInteger(number))
      action = { kind: "cut", bytes: number };
    else if (part === "slow") action = { kind: "slow", ms: 3_000 };
    else if (name === "slow" && number !== undefined && number <= 600_000) action = { kind: "slow", ms: number };
    else return undefined;
  }
  return action === undefined ? undefined : { call: call as CallName | "all", probability, times, action };
}

export class FaultPlan {
  readonly #faults: readonly Fault[];
  readonly #random: () => number;
  readonly #left: number[];

  constructor(faults: readonly Fault[], random: () => number) {
    this.#faults = faults;
    this.#random = random;
    this.#left = faults.map((fault) => fault.times);
  }

  get isEmpty(): boolean {
    return this.#faults.length === 0;
  }

  strike(call: CallName): FaultAction | undefined {
    for (const [index, fault] of this.#faults.entries()) {
      if (fault.call !== "all" && fault.call !== call) continue;
      const left = this.#left[index] ?? 0;
      if (left <= 0 || this.#random() >= fault.probability) continue;
      this.#left[index] = left - 1;
      return fault.action;
    }
    return undefined;
  }
}
