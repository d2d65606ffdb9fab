import { stateDir } from "../../engine/connections/paths.ts";
import { Disk } from "../../engine/runs/disk.ts";
import { RunStore } from "../../engine/runs/run-store.ts";
import type { RunSpend } from "../../engine/runs/spend.ts";
import type { Context } from "../../shared/context.ts";
import { type Credits, creditsToNumber, ZERO } from "../../shared/contract/money.ts";
import { type Budget, type BudgetUse, budgetUse } from "../jobs/named-budget.ts";
import { type Connecting, inSession, type Session, type SessionEvents } from "../session.ts";
import type { QuoteBook } from "./quotes.ts";
import type { RowPositions } from "./rows.ts";

export const PERIODS = ["day", "session", "total"] as const;
export type Period = (typeof PERIODS)[number];

/** The cap that a person gave at the start: what is bought within it is marked with its name in the journals. */
export interface NamedBudget {
  readonly name: string;
  readonly cap: Credits;
  readonly per: Period;
}

/** What every tool works with. Nothing in it can be changed by a tool. */
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
  readonly quotes: QuoteBook;
  readonly positions: RowPositions;
}

const DAY_MS = 86_400_000;

export const runsOf = ({ context }: Pick<AgentWorld, "context">): RunStore =>
  new RunStore(stateDir(context), new Disk());

/** The budget of a key's mode: simulated credits of a test key and real ones never add up. */
export function budgetOf({ name, per }: NamedBudget, cap: Credits, world: AgentWorld, isTest: boolean): Budget {
  const now = world.context.now();
  const since = { day: now - (now % DAY_MS), session: world.startedAt, total: 0 }[per];
  const counts = ({ budgets, key_mode }: RunSpend): boolean =>
    budgets.includes(name) && (key_mode === "test") === isTest;
  return { cap, since, counts };
}

export async function useOf(world: AgentWorld, isTest: boolean): Promise<BudgetUse | undefined> {
  const { budget, context } = world;
  return budget === undefined ? undefined : await budgetUse(budgetOf(budget, budget.cap, world, isTest), context);
}

/** The budget as a tool tells it; null where there is none. */
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

/** The world of one call: it ends with the server, and with the call. */
export const withinFolder = ({ context }: Pick<AgentWorld, "context">, signal: AbortSignal): Context =>
  Object.create(context, { interrupted: { value: AbortSignal.any([context.interrupted, signal]) } }) as Context;

/** Runs a call with a session of its own. */
export const withService = <T>(
  world: AgentWorld,
  signal: AbortSignal,
  run: (session: Session, context: Context) => Promise<T>,
): Promise<T> => {
  const context = withinFolder(world, signal);
  return inSession(context, world.connecting, world.events, (session) => run(session, context));
};

export const leftOf = async (world: AgentWorld, isTest: boolean): Promise<Credits> =>
  (await useOf(world, isTest))?.left ?? ZERO;
