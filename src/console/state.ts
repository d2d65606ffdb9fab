import { computed, effect, signal } from "@preact/signals";
import type { Filters } from "../shared/contract/filters.ts";
import { ApiError, api, dropProof, said } from "./api.ts";
import { fragmentOf, type Place, placeOf } from "./segment.ts";

export interface Me {
  readonly role: "operator" | "owner" | "viewer" | "key";
  readonly account: { readonly id: string; readonly name: string };
  readonly key: {
    readonly name: string;
    readonly prefix: string;
    readonly cap: number | null;
    readonly cap_left: number | null;
  } | null;
  readonly modes: readonly {
    readonly mode: "live" | "test";
    readonly balance: number;
    readonly held: number;
    readonly used_today: number;
  }[];
  readonly plan: {
    readonly name: string;
    readonly per_minute: number;
    readonly per_day: number;
    /** Counts of fewer people are bounded; null: none are. */
    readonly small_counts: number | null;
    readonly costs: Readonly<Record<string, number>>;
  };
  readonly limits: {
    readonly per_page_max: number;
    readonly max_depth: number | null;
    readonly count_cache_seconds: number;
  };
  readonly dataset: Readonly<Record<string, string | number | null>>;
  readonly origin: string;
}

export interface Counted {
  readonly count: number;
  readonly cached: boolean;
  readonly as_of: string;
  readonly version: string;
  readonly ms: number;
  readonly credits: number;
  readonly requests: number;
  readonly balance: number;
  readonly balance_after: number;
}

export const me = signal<Me | undefined>(undefined);
/** Why the page that signs in is shown: `undefined` while it is not. */
export const signedOut = signal<string | undefined>(undefined);
export const notice = signal("");
/** A new key, on every page until somebody says that it is kept: it is in no other answer. */
export const newKey = signal<string | undefined>(undefined);
export const place = signal<Place>(placeOf(location.hash));
export const mode = computed<"live" | "test">(() => {
  const modes = me.value?.modes ?? [];
  return modes.length === 1 && modes[0] !== undefined ? modes[0].mode : (place.value.mode ?? "live");
});
export const filters = computed(() => place.value.filters);
export const may = computed(() => ({
  buy: me.value?.role !== "viewer",
  own: me.value?.role === "operator" || me.value?.role === "owner",
  operate: me.value?.role === "operator",
}));

addEventListener("hashchange", () => {
  if (location.hash !== fragmentOf(place.value)) place.value = placeOf(location.hash);
});

/** Goes somewhere else. @param replace without a step for the browser's Back: while a text is typed */
export function go(changes: Partial<Place>, replace = false): void {
  const next = { ...place.value, ...changes };
  const fragment = fragmentOf(next);
  if (fragment === location.hash) return;
  if (replace) history.replaceState(null, "", fragment);
  else history.pushState(null, "", fragment);
  place.value = next;
}

addEventListener("popstate", () => {
  place.value = placeOf(location.hash);
});

export const setFilters = (next: Filters, replace = false): void => go({ filters: next }, replace);

/** Shows what went wrong; where nobody is signed in any more, the page that signs in. */
export function fail(error: unknown): void {
  if (error instanceof DOMException && error.name === "AbortError") return;
  if (error instanceof ApiError && error.code === "signed_out") {
    dropProof();
    me.value = undefined;
    newKey.value = undefined;
    signedOut.value = error.message;
    return;
  }
  notice.value = said(error);
}

export async function loadMe(): Promise<void> {
  me.value = await api<Me>("GET", "/me");
  signedOut.value = undefined;
}

/** Asks again for the balance: after a purchase, and when the page comes back to sight. */
export const refreshMe = (): void => {
  if (me.value !== undefined) loadMe().catch(fail);
};

export const count = signal<Counted | undefined>(undefined);
export const counting = signal(false);
export const problems = signal<readonly { readonly key: string; readonly message: string }[]>([]);

let asked: AbortController | undefined;

/** Counts the segment whenever it changes; of several questions only the last one's answer is shown. */
export function countAlways(): void {
  effect(() => {
    const body = { filters: filters.value, mode: mode.value };
    if (me.value === undefined && signedOut.value !== undefined) return;
    asked?.abort();
    const turn = new AbortController();
    asked = turn;
    counting.value = true;
    api<Counted>("POST", "/count", body, turn.signal)
      .then((found) => {
        count.value = found;
        problems.value = [];
        notice.value = "";
        counting.value = false;
      })
      .catch((error: unknown) => {
        if (turn.signal.aborted) return;
        counting.value = false;
        if (error instanceof ApiError && error.issues.length > 0) problems.value = error.issues;
        else fail(error);
      });
  });
}
