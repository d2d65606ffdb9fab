import { computed, effect, signal, useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { MeAnswer } from "../service/console/account.ts";
import type { OwnedAnswer } from "../service/console/owned.ts";
import type { CountAnswer } from "../service/console/segment.ts";
import { type Filters, filterSpec } from "../shared/contract/vocabulary.ts";
import { answerTo, type Finding, segmentInquiry } from "./answer.ts";
import { ApiError, api, dropProof, reasonOf } from "./api.ts";
import { fragmentOf, type PagePlace, placeInAddress } from "./segment.ts";

export const me = signal<MeAnswer | undefined>(undefined);
/** Why the page that signs in is shown: `undefined` while it is not. */
export const signedOut = signal<string | undefined>(undefined);
export const notice = signal("");
/** A new key, on every page until somebody says that it is kept: it is in no other answer. */
export const newKey = signal<string | undefined>(undefined);
export const place = signal<PagePlace>(placeInAddress(location.hash));
/** Signed in, or not known to be out: a count need not wait until it is known who is asking. */
const isWelcome = computed(() => me.value !== undefined || signedOut.value === undefined);
export const mode = computed<"live" | "test">(() => {
  const modes = me.value?.modes ?? [];
  return modes.length === 1 && modes[0] !== undefined
    ? modes[0].mode
    : (place.value.mode ?? "live");
});
export const chosenFilters = computed(() => place.value.filters);
export const may = computed(() => ({
  buy: me.value?.role !== "viewer",
  own: me.value?.role === "owner",
}));

addEventListener("hashchange", () => {
  if (location.hash !== fragmentOf(place.value)) place.value = placeInAddress(location.hash);
});

/**
 * Goes somewhere else.
 * @param replace without a step for the browser's Back: while a text is typed
 */
export function go(changes: Partial<PagePlace>, replace = false): void {
  const next = { ...place.value, ...changes };
  const fragment = fragmentOf(next);
  if (fragment === location.hash) return;
  if (replace) history.replaceState(null, "", fragment);
  else history.pushState(null, "", fragment);
  place.value = next;
}

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
  notice.value = reasonOf(error);
}

export async function loadMe(): Promise<void> {
  me.value = await api<MeAnswer>("GET", "/me");
  signedOut.value = undefined;
}

/** Asks again for the balance, and what it leaves: after a purchase, and when the page is back. */
export const refreshMe = (): void => {
  if (me.value !== undefined) loadMe().then(recount).catch(fail);
};

/** The segment on the screen: everything that is told of it names it. */
export const segment = computed(() =>
  JSON.stringify({ filters: chosenFilters.value, mode: mode.value }),
);
const finding = signal<Finding<CountAnswer>>({ of: "" });
const answer = computed(() => answerTo(segment.value, finding.value));
/**
 * How many the very segment on the screen has, and
 * what they cost; undefined where nobody has said so.
 */
export const count = computed(() => answer.value.value);
export const counting = computed(
  () => answer.value.value === undefined && answer.value.error === undefined,
);
/** Why the segment on the screen has no number, and when it is asked for again. */
export const uncounted = computed(() => {
  const { again, error } = answer.value;
  return error === undefined ? undefined : { why: reasonOf(error), again };
});
export const problems = computed(() =>
  answer.value.error instanceof ApiError ? answer.value.error.issues : [],
);
/** Whether all that is wrong is said at fields: then it is said nowhere else. */
export const isSaidAtFields = computed(
  () =>
    problems.value.length > 0 && problems.value.every(({ key }) => filterSpec(key) !== undefined),
);

const inquiryAt = <Answer>(path: string, tell: (answer: Finding<Answer>) => void) =>
  segmentInquiry<Answer>((of, signal) => api<Answer>("POST", path, JSON.parse(of), signal), tell);

const counts = inquiryAt<CountAnswer>("/count", (next) => {
  finding.value = next;
  if (next.value !== undefined) notice.value = "";
  if (next.error instanceof ApiError && next.error.code === "signed_out") fail(next.error);
});

const ownedFinding = signal<Finding<OwnedAnswer>>({ of: "" });
/**
 * How many of the segment on the screen are the account's; undefined while nobody has said so. Of
 * nobody nobody is owned: that is not asked.
 */
export const owned = computed(() =>
  count.value?.count === 0
    ? { count: 0, owned: 0, new: 0 }
    : answerTo(segment.value, ownedFinding.value).value,
);
const ownedOnes = inquiryAt<OwnedAnswer>("/owned", (next) => (ownedFinding.value = next));
/** Whether anything was ever bought, so that there is something to own. */
export const owns = computed(
  () => me.value?.modes.find((each) => each.mode === mode.value)?.owns === true,
);

export const recount = (): void => counts.ask(segment.value);

export function countAlways(): void {
  effect(() => {
    if (isWelcome.value) counts.ask(segment.value);
  });
  effect(() => {
    if (owns.value && count.value?.count) ownedOnes.ask(segment.value);
  });
}

/**
 * What a POST answers to a question, asked again
 * whenever that changes; undefined: nothing is asked.
 */
export function useInquiry<Answer>(path: string, of: string | undefined, waitMs = 0) {
  const finding = useSignal<Finding<Answer>>({ of: "" });
  const inquiry = useMemo(() => inquiryAt<Answer>(path, (next) => (finding.value = next)), []);
  useEffect(() => {
    if (of !== undefined) inquiry.ask(of, waitMs);
    return () => inquiry.stop();
  }, [of]);
  return { ...answerTo(of ?? "", finding.value), ask: inquiry.ask };
}
