import { failureOf } from "../app/failures.ts";
import { credits, formatCredits } from "../shared/contract/money.ts";
import { present, whenGiven } from "../shared/contract/text.ts";
import { type DoorWords, type Raise, withinBounds } from "../shared/errors.ts";
import type { HeadcountError as Declared } from "./index.ts";

const camel = (name: string): string =>
  name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** Options are fields; of commands a program has the one that goes on. */
const IN_PROGRAMS: DoorWords = {
  option: ({ name, value }) => (value === undefined ? camel(name) : `${camel(name)}: ${value}`),
  command: ({ name, words: { arguments: given = [] } }) =>
    name === "resume" && given[0] !== undefined ? `resume("${given[0]}")` : undefined,
};

function raiseOf({ limit, maxCredits }: Raise): Declared["raise"] {
  const raised = present({
    limit,
    maxCredits: whenGiven(maxCredits, (most) => formatCredits(credits(most))),
  });
  return Object.keys(raised).length === 0 ? null : raised;
}

export class HeadcountError extends Error implements Declared {
  override readonly name = "HeadcountError";
  readonly category: Declared["category"];
  readonly code: string;
  readonly run: string | null;
  readonly resumable: boolean;
  readonly option: string | null;
  readonly raise: Declared["raise"];
  readonly status: number | null;
  readonly requestId: string | null;
  readonly details: readonly string[];

  /** @param run that keeps what was paid before it */
  constructor(error: unknown, run?: string) {
    const thrown = failureOf(error);
    const failure = thrown.inWordsOf(IN_PROGRAMS);
    super(failure.message, { cause: error });
    const { category, code, option, raise = {}, requestId = null, status = null } = thrown;

    this.category = category;
    this.code = code;
    this.run = run ?? null;
    this.resumable = run !== undefined && withinBounds(thrown).resumable;
    this.option = option === undefined ? null : camel(option);
    this.raise = raiseOf(raise);
    this.status = status;
    this.requestId = requestId;
    this.details = failure.details.map((detail) => `${detail}`);
  }
}
