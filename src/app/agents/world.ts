import { randomBytes } from "node:crypto";
import type { Quote } from "../../engine/purchase/quote.ts";
import type { Receipt } from "../../engine/purchase/receipt.ts";
import type { Target } from "../../engine/runs/plan.ts";
import type { RunReader } from "../../engine/runs/reader.ts";
import type { RunSpend } from "../../engine/runs/spend.ts";
import type { Context } from "../../shared/context.ts";
import { type Credits, creditsToNumber, ZERO } from "../../shared/contract/money.ts";
import { usageError } from "../../shared/errors.ts";
import { type BudgetUse, budgetUse, type PurchaseBudget } from "../jobs/budget.ts";
import { openRuns } from "../keep/store.ts";
import { type Connecting, inSession, type Session, type SessionEvents } from "../session.ts";
import type { rowPositions } from "./positions.ts";

export const PERIODS = ["day", "session", "total"] as const;
export type Period = (typeof PERIODS)[number];

/**
 * The cap that a person gave at the start: what is bought
 * within it is marked with its name in the journals.
 */
export interface NamedBudget {
  readonly name: string;
  readonly cap: Credits;
  readonly per: Period;
}

export interface AgentWorld {
  readonly context: Context;
  readonly connecting: Connecting;
  readonly events: SessionEvents;
  /** Undefined: nothing can be bought. */
  readonly budget: NamedBudget | undefined;
  /** Up to so many credits nobody is asked. */
  readonly askOver: Credits;
  /** The folder that runs may be exported to: absolute. */
  readonly out: string | undefined;
  readonly startedAt: number;
  readonly quotes: ReturnType<typeof quoteBook>;
  readonly positions: ReturnType<typeof rowPositions>;
}

/** The world of one call: it ends with the server, and with the call. */
export function worldOfCall(world: AgentWorld, signal: AbortSignal): AgentWorld {
  const interrupted = AbortSignal.any([world.context.interrupted, signal]);
  return {
    ...world,
    context: Object.create(world.context, { interrupted: { value: interrupted } }) as Context,
  };
}

export const withService = <T>(
  { connecting, context, events }: AgentWorld,
  run: (session: Session) => Promise<T>,
): Promise<T> => inSession(context, connecting, events, run);

/** A run by its name, or the start of it. @throws CliError exit 2 */
export async function runNamed(name: string, { context }: AgentWorld): Promise<RunReader> {
  const store = openRuns(context);
  return await store.open(await store.resolve(name));
}

const DAY_MS = 86_400_000;

/** The budget of a key's mode: simulated credits of a test key and real ones never add up. */
export function budgetOf(
  { cap, name, per }: NamedBudget,
  world: AgentWorld,
  isTest: boolean,
): PurchaseBudget {
  const now = world.context.now();
  const since = { day: now - (now % DAY_MS), session: world.startedAt, total: 0 }[per];
  const counts = ({ budgets, key_mode }: RunSpend): boolean =>
    budgets.includes(name) && (key_mode === "test") === isTest;
  return { cap, since, counts };
}

export const useOf = async (world: AgentWorld, isTest: boolean): Promise<BudgetUse | undefined> =>
  world.budget && (await budgetUse(budgetOf(world.budget, world, isTest), world.context));

export const leftOf = async (world: AgentWorld, isTest: boolean): Promise<Credits> =>
  (await useOf(world, isTest))?.left ?? ZERO;

export async function budgetDocument(world: AgentWorld, isTest: boolean) {
  const use = await useOf(world, isTest);
  if (world.budget === undefined || use === undefined) return null;

  const { name, cap, per } = world.budget;
  const now = world.context.now();
  const midnight = new Date(now - (now % DAY_MS) + DAY_MS).toISOString();

  return {
    name,
    cap: creditsToNumber(cap),
    per,
    spent: creditsToNumber(use.spent),
    left: creditsToNumber(use.left),
    resets_at: per === "day" ? midnight : null,
  };
}

export const QUOTE_MS = 10 * 60_000;
/** The oldest goes where there are more: a quote costs nothing to ask for again. */
const MOST = 500;

/** What was offered: a purchase is this or nothing. */
export interface HeldQuote {
  readonly id: string;
  readonly expiresAt: number;
  /** The question that was asked last, and not yet answered. */
  question?: string | undefined;
  readonly target: Target;
  readonly quote: Quote;
  readonly isTest: boolean;
  readonly continues: string | undefined;
  readonly command: string;
  /** Why nobody matches, or nobody one of several values. */
  readonly hints: readonly string[];
  readonly said: readonly string[];
  /** Buys it. @param start hears which run it is */
  readonly buy: (
    within: { readonly budget: string; readonly budgetLeft: Credits },
    start: (begun: { readonly run: string }) => void,
    world: AgentWorld,
  ) => Promise<{ readonly receipt: Receipt; readonly run: string }>;
}

const noQuote = (id: string, why: string) =>
  usageError(
    `quote ${id} ${why}; nothing was spent`,
    "ask for a new one with the tool quote",
    "quote_gone",
  );

/** Quotes of this process: each good for ten minutes and one use, declined ones for none. */
export function quoteBook(now: () => number) {
  const quotes = new Map<string, HeldQuote>();

  function keep(offered: Omit<HeldQuote, "id" | "expiresAt">): HeldQuote {
    const quote: HeldQuote = {
      ...offered,
      id: `q_${randomBytes(9).toString("base64url")}`,
      expiresAt: now() + QUOTE_MS,
    };
    quotes.set(quote.id, quote);

    for (const id of quotes.keys()) {
      if (quotes.size <= MOST) break;
      quotes.delete(id);
    }

    return quote;
  }

  /** @throws CliError exit 2 where it is not known, used, declined or too old */
  function find(id: string): HeldQuote {
    const quote = quotes.get(id);
    if (quote === undefined)
      throw noQuote(id.slice(0, 40), "is not known here: it was used, declined, or never given");
    if (now() < quote.expiresAt) return quote;
    quotes.delete(id);
    throw noQuote(id, "is older than ten minutes");
  }

  /** Uses a quote up. @throws CliError as {@link find} */
  function take(id: string): HeldQuote {
    const quote = find(id);
    quotes.delete(id);
    return quote;
  }

  /** Notes that a person is asked. @returns what the answer has to come with */
  function ask(id: string): string {
    const question = randomBytes(16).toString("base64url");
    find(id).question = question;
    return question;
  }

  /** Whether this is the question that was asked last; it can be answered once. */
  function answers(id: string, question: string): boolean {
    const quote = quotes.get(id);
    if (quote === undefined || quote.question !== question) return false;
    quote.question = undefined;
    return true;
  }

  return { keep, find, take, drop: (id: string): boolean => quotes.delete(id), ask, answers };
}
