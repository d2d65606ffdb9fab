import fc from "fast-check";

export const USERS = ["ada", "bob", "cy"] as const;
export type UserName = (typeof USERS)[number];

/** What a search does about people who are owned. */
export type Owned = "new-only" | "with-owned" | null;

export type Command =
  | {
      readonly kind: "search";
      /** A department of the world, by falling size; null: the one of the search before. */
      readonly segment: number | null;
      readonly perPage: number;
      /** null: as many pages in flight as where nothing is said. */
      readonly concurrency: number | null;
      readonly cap: number | null;
      readonly limit: number | null;
      readonly owned: Owned;
      readonly again: boolean;
      readonly requireComplete: boolean;
    }
  | {
      readonly kind: "sample";
      readonly segment: number;
      readonly rows: number;
      readonly cap: number | null;
    }
  | {
      readonly kind: "employees";
      /** Companies of the world; none: those of the order before, and one more. */
      readonly companies: readonly number[];
      readonly more: number;
      readonly perPage: number;
      readonly cap: number | null;
      readonly limit: number | null;
      readonly again: boolean;
    }
  | {
      readonly kind: "refresh";
      readonly nth: number;
      readonly cap: number | null;
      readonly again: boolean;
      readonly verify: string | null;
      readonly buyChanged: boolean;
    }
  | { readonly kind: "count"; readonly segment: number }
  /** The last search that did not end well, as it was typed. */
  | { readonly kind: "again" }
  /** `nth` of the runs that there are, the newest first; null: whichever is unfinished. */
  | {
      readonly kind: "resume";
      readonly nth: number | null;
      readonly cap: number | null;
      readonly limit: number | null;
    }
  | { readonly kind: "suppress" | "forget"; readonly nth: number }
  /** The jobs of the story: those that are due, or all by their names. */
  | { readonly kind: "jobs"; readonly due: boolean }
  /** Buys by the tools, within a budget for good; a person is asked, and agrees or does not. */
  | {
      readonly kind: "agent";
      readonly segment: number;
      readonly profiles: number | null;
      readonly budget: number;
      readonly agrees: boolean;
    }
  /** Orders an export at the console and takes its file. */
  | { readonly kind: "console"; readonly segment: number; readonly profiles: number };

/** A file of jobs that each user has. */
export interface Jobs {
  /** Credits a month. */
  readonly budget: number | null;
  readonly jobs: readonly {
    readonly command: "search" | "refresh";
    readonly segment: number;
    readonly cap: number;
  }[];
}

/** What happens while commands run. Armed at a decision of the scheduler, it strikes where it fits next. */
export interface Mishap {
  readonly at: number;
  readonly what: (typeof MISHAPS)[number];
  /** Whom it strikes, of those whom it can. */
  readonly whom: number;
  /** Not before a call is under way that costs credits. */
  readonly paid: boolean;
}

export const MISHAPS = [
  ...([
    "lost",
    "cut",
    "reset",
    "error 500",
    "error 503",
    "error 429",
    "line breaks",
    "the dataset fails",
  ] as const),
  ...([
    "kill",
    "interrupt",
    "crash",
    "overtake",
    "revoke",
    "grant",
    "deduct",
    "cap",
    "reload",
    "hours",
  ] as const),
] as const;

/** A disk that fails at a step of writing: that one, or each from there on. */
export interface DiskFault {
  readonly at: number;
  readonly code: "ENOSPC" | "EIO";
  readonly once: boolean;
}

export type Step =
  | {
      readonly kind: "run";
      readonly commands: Readonly<Partial<Record<UserName, Command>>>;
      readonly mishaps: readonly Mishap[];
      /** Whether they take turns at random; else each goes on until it waits. */
      readonly mixed: boolean;
      /** Of the first user. */
      readonly disk: DiskFault | null;
    }
  | { readonly kind: "revoke" | "reload" | "crash" | "grant" | "deduct"; readonly nth: number }
  | { readonly kind: "cap"; readonly nth: number; readonly room: number | null }
  | { readonly kind: "hours"; readonly hours: number };

export interface Story {
  /** Whether ada and bob have one key between them. */
  readonly shared: boolean;
  readonly credits: number;
  readonly random: number;
  readonly jobs: Jobs;
  readonly steps: readonly Step[];
}

const SEGMENTS = 6;
export const COMPANIES = 8;
const segment = fc.nat(SEGMENTS - 1);
const bound = fc.oneof(fc.constant(null), fc.integer({ min: 1, max: 60 }));
const perPage = fc.constantFrom(25, 10, 7, 4, 3);
const search: fc.Arbitrary<Command> = fc.record({
  kind: fc.constant("search" as const),
  segment: fc.oneof(segment, fc.constant(null), fc.constant(null)),
  perPage,
  concurrency: fc.constantFrom(1, 1, 3, null),
  cap: bound,
  limit: bound,
  owned: fc.constantFrom(null, null, null, null, null, "new-only" as const, "with-owned" as const),
  again: fc.constantFrom(false, false, false, false, true),
  requireComplete: fc.constantFrom(false, false, false, false, true),
});
const sample: fc.Arbitrary<Command> = fc.record({
  kind: fc.constant("sample" as const),
  segment: fc.nat(1),
  rows: fc.integer({ min: 1, max: 20 }),
  cap: fc.oneof(fc.constant(null), fc.constant(null), fc.integer({ min: 1, max: 20 })),
});
const company = fc.nat(COMPANIES - 1);
const employees: fc.Arbitrary<Command> = fc.record({
  kind: fc.constant("employees" as const),
  companies: fc.array(company, { maxLength: 2, size: "max" }),
  more: company,
  perPage,
  cap: bound,
  limit: bound,
  again: fc.constantFrom(false, false, false, true),
});
const refresh: fc.Arbitrary<Command> = fc.record({
  kind: fc.constant("refresh" as const),
  nth: fc.nat(5),
  cap: bound,
  again: fc.constantFrom(false, false, true),
  verify: fc.constantFrom(null, null, "title"),
  buyChanged: fc.boolean(),
});
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 9, arbitrary: search },
  { weight: 2, arbitrary: sample },
  { weight: 3, arbitrary: employees },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("count" as const), segment }) },
  { weight: 3, arbitrary: refresh },
  { weight: 4, arbitrary: fc.constant({ kind: "again" as const }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant("resume" as const),
      nth: fc.constantFrom(null, null, 0, 0, 0, 1, 2),
      cap: bound,
      limit: bound,
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constantFrom("suppress" as const, "forget" as const),
      nth: fc.nat(400),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant("jobs" as const), due: fc.boolean() }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("agent" as const),
      segment,
      profiles: bound,
      budget: fc.constantFrom(20, 60, 200, 2_000),
      agrees: fc.constantFrom(true, true, true, false),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("console" as const),
      segment,
      profiles: fc.integer({ min: 1, max: 60 }),
    }),
  },
);
const job = fc.record({
  command: fc.constantFrom("search" as const, "refresh" as const),
  segment,
  cap: fc.constantFrom(10, 30, 300, 300),
});
const jobs: fc.Arbitrary<Jobs> = fc.record({
  budget: fc.constantFrom(null, 40, 120),
  jobs: fc.array(job, { minLength: 1, maxLength: 2 }),
});
const mishap: fc.Arbitrary<Mishap> = fc.record({
  at: fc.nat(30),
  what: fc.constantFrom(...MISHAPS),
  whom: fc.nat(2),
  paid: fc.boolean(),
});
const diskFault: fc.Arbitrary<DiskFault> = fc.record({
  at: fc.integer({ min: 1, max: 90 }),
  code: fc.constantFrom("ENOSPC" as const, "EIO" as const),
  once: fc.boolean(),
});
const run: fc.Arbitrary<Step> = fc.record({
  kind: fc.constant("run" as const),
  commands: fc.record({ ada: command, bob: command, cy: command }, { requiredKeys: ["ada"] }),
  mishaps: fc.oneof(fc.constant([]), fc.array(mishap, { maxLength: 6, size: "max" })),
  mixed: fc.boolean(),
  disk: fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: diskFault }),
});
const nth = fc.nat(2);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 9, arbitrary: run },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constantFrom(
        "revoke" as const,
        "reload" as const,
        "crash" as const,
        "grant" as const,
        "deduct" as const,
      ),
      nth,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("cap" as const),
      nth,
      room: fc.option(fc.integer({ min: 0, max: 60 })),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("hours" as const),
      hours: fc.constantFrom(1, 12, 23, 25, 49),
    }),
  },
);

export const story: fc.Arbitrary<Story> = fc.record({
  shared: fc.boolean(),
  credits: fc.constantFrom(2_000, 2_000, 150, 60),
  random: fc.nat(1_000_000),
  jobs,
  steps: fc.array(step, { minLength: 1, maxLength: 8, size: "max" }),
});
