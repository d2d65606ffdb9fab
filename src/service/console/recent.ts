import type { FastifyRequest } from "fastify";
import { type Credits, creditsToNumber } from "../../shared/contract/money.ts";

interface RecentRequest {
  readonly at: string;
  readonly method: string;
  readonly route: string | null;
  readonly status: number;
  readonly ms: number;
  readonly credits: number;
  readonly key: string | null;
  readonly account: string | null;
  readonly request_id: string;
}

const KEPT = 1_000;

type Kept = Omit<RecentRequest, "at" | "credits"> & { readonly at: number; readonly credits: Credits };

export class RecentRequests {
  readonly #ring: Kept[] = [];
  readonly #now: () => number;
  #next = 0;

  constructor(now: () => number) {
    this.#now = now;
  }

  add({ call, method }: FastifyRequest, status: number, ms: number): void {
    const { route } = call;
    // The console's own calls would drown the others: it asks once a second.
    if (call.name === undefined && route?.startsWith("/console") === true) return;
    this.#ring[this.#next] = {
      at: this.#now(),
      method,
      route,
      status,
      ms: Math.round(ms * 10) / 10,
      credits: call.charged,
      key: call.key?.id ?? null,
      account: call.key?.accountId ?? null,
      request_id: call.requestId,
    };
    this.#next = (this.#next + 1) % KEPT;
  }

  list(chosen: (request: RecentRequest) => boolean): readonly RecentRequest[] {
    const ordered = [...this.#ring.slice(this.#next), ...this.#ring.slice(0, this.#next)];
    const told = ({ at, credits, ...rest }: Kept): RecentRequest => {
      return { ...rest, at: new Date(at).toISOString(), credits: creditsToNumber(credits) };
    };
    return ordered.reverse().map(told).filter(chosen);
  }
}
