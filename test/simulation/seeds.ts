import type { Command, Mishap, Step, Story } from "./story.ts";

type Run = Extract<Step, { readonly kind: "run" }>;
type Of<Kind extends Command["kind"]> = Extract<Command, { readonly kind: Kind }>;

interface Named {
  readonly name: string;
  readonly found: string;
  /** Spelled out: a seed says another story as soon as steps are added. */
  readonly story: Story;
}

const run = (commands: Run["commands"], more: Partial<Run> = {}): Run => ({
  kind: "run",
  commands,
  mishaps: [],
  mixed: false,
  disk: null,
  ...more,
});

const search = (more: Partial<Of<"search">> = {}): Of<"search"> => ({
  kind: "search",
  segment: 0,
  perPage: 7,
  concurrency: 1,
  cap: null,
  limit: null,
  owned: null,
  again: false,
  requireComplete: false,
  ...more,
});

/** At a decision, or where it fits next. */
const befalls = (what: Mishap["what"], at: number): Mishap => ({ at, what, whom: 0, paid: false });

/** The reply to a page that was paid for, of a search that is alone: before it come free calls. */
const PAID_REPLY = 16;

const story = (steps: readonly Step[], more: Partial<Story> = {}): Story => ({
  shared: false,
  credits: 2_000,
  random: 1,
  jobs: { budget: null, jobs: [{ command: "search", segment: 2, cap: 300 }] },
  steps,
  ...more,
});

/** A reply is lost, and asked for again under its key. */
export const LOST_REPLY = story([
  run({ ada: search() }, { mishaps: [befalls("lost", PAID_REPLY)] }),
]);

/** Each kind of actor once, in peace. */
export const FIRST = story([
  run({
    ada: search(),
    bob: { kind: "agent", segment: 3, profiles: 5, budget: 20, agrees: true },
    cy: { kind: "jobs", due: true },
  }),
  run({ ada: { kind: "console", segment: 1, profiles: 9 } }),
]);

/** What stories found, each by its name: they are played in every run. */
export const SEEDS: readonly Named[] = [
  {
    name: "a closed laptop",
    found: "a request was repeated under a key that the service had forgotten, told as one charge",
    story: story([
      run(
        { ada: search() },
        { mishaps: [befalls("lost", PAID_REPLY), befalls("hours", PAID_REPLY)] },
      ),
      { kind: "hours", hours: 25 },
      run({ ada: { kind: "again" } }),
    ]),
  },
  {
    name: "in one millisecond",
    found: "--new-only wrote people again whom a run brought in the moment in which it began",
    story: story([
      run({ ada: search() }),
      run({ ada: search({ owned: "new-only" }) }),
      run({ ada: search({ owned: "with-owned" }) }),
    ]),
  },
  {
    name: "there and back",
    found: "a run that met two versions of the dataset was of the first one when it was back",
    story: story([
      run({ ada: search({ perPage: 3 }) }, { mishaps: [befalls("reload", 30)] }),
      { kind: "reload", nth: 0 },
      run({ ada: search({ owned: "new-only" }) }),
      run({ ada: { kind: "again" } }),
      run({ ada: search() }),
    ]),
  },
  {
    name: "forgotten meanwhile (seeds 125 and 127)",
    found: "a run of new people that was stopped before one was forgotten ended with 5 for good",
    story: story([
      run({ ada: search({ owned: "new-only", perPage: 4 }) }, { mishaps: [befalls("kill", 36)] }),
      run({ ada: { kind: "forget", nth: 1 } }),
      run({ ada: { kind: "again" } }),
      run({ ada: { kind: "resume", nth: null, cap: null, limit: null } }),
    ]),
  },
  {
    name: "begun anew (seed 128)",
    found: "the model took a run that was begun anew for the first one",
    story: story([
      run(
        { ada: search({ owned: "with-owned", limit: 9, perPage: 3 }) },
        { mishaps: [befalls("kill", 30)] },
      ),
      run({ ada: search({ limit: 20 }) }),
      { kind: "reload", nth: 0 },
      run({ ada: { kind: "again" } }),
    ]),
  },
  {
    name: "after the file (seed 114)",
    found: "Ctrl-C in a hint after a file was whole made the command fail",
    story: story([
      run({ ada: search() }),
      run({ ada: search({ owned: "new-only" }) }, { mishaps: [befalls("interrupt", 0)] }),
      run({ ada: search({ owned: "new-only" }) }, { mishaps: [befalls("interrupt", 5)] }),
    ]),
  },
  {
    name: "full after the name",
    found: "a disk that is full once a file has its name: exit 5, and the file is whole",
    story: story([
      run(
        { bob: search({ segment: 4, perPage: 10 }) },
        { disk: { at: 54, code: "ENOSPC", once: false } },
      ),
      run({ bob: { kind: "again" } }),
    ]),
  },
  {
    name: "a job and its file",
    found: "a job whose disk was full once its file had its name refused that file for good",
    story: story(
      [
        run(
          { cy: { kind: "jobs", due: false } },
          { disk: { at: 42, code: "ENOSPC", once: false } },
        ),
      ],
      { jobs: { budget: null, jobs: [{ command: "search", segment: 0, cap: 10 }] } },
    ),
  },
  {
    name: "credits while a reply is lost",
    found: "the balance explains too much: left out of the sums, and no more than that",
    story: story([
      run(
        { ada: search() },
        {
          mishaps: [
            befalls("lost", PAID_REPLY),
            befalls("grant", PAID_REPLY),
            befalls("hours", PAID_REPLY),
          ],
        },
      ),
      { kind: "hours", hours: 25 },
      run({ ada: { kind: "again" } }),
    ]),
  },
  {
    name: "a limit and a refresh (seed 9106)",
    found: "the model took a list that a limit ended for one that is to be the whole segment",
    story: story([
      run({ ada: search({ segment: 1, cap: 34, limit: 23 }) }),
      run({
        ada: {
          kind: "refresh",
          nth: 0,
          cap: 31,
          again: false,
          verify: null,
          buyChanged: false,
        },
      }),
    ]),
  },
  {
    name: "listed, then full (seed 9105)",
    found: "the model took whom a suppression that failed behind its list had listed for shown",
    story: story(
      [
        run(
          { ada: { kind: "jobs", due: false } },
          { disk: { at: 21, code: "ENOSPC", once: false } },
        ),
        run(
          { ada: { kind: "suppress", nth: 0 } },
          { disk: { at: 18, code: "ENOSPC", once: false } },
        ),
      ],
      { random: 0, jobs: { budget: null, jobs: [{ command: "search", segment: 0, cap: 10 }] } },
    ),
  },
  {
    name: "half forgotten (seed 9105)",
    found: "the model counted whom a forget that failed took out of a run as a row of it",
    story: story(
      [
        run(
          {
            ada: { kind: "agent", segment: 0, profiles: null, budget: 20, agrees: true },
            bob: { kind: "sample", segment: 0, rows: 1, cap: 1 },
          },
          { disk: { at: 1, code: "ENOSPC", once: false } },
        ),
        run({ ada: search({ perPage: 25, limit: 1 }) }),
        run({ ada: { kind: "forget", nth: 0 } }, { disk: { at: 19, code: "ENOSPC", once: false } }),
      ],
      { random: 0, jobs: { budget: null, jobs: [{ command: "search", segment: 0, cap: 10 }] } },
    ),
  },
  {
    name: "whole beside the owned (seed 9105)",
    found: "the model did not count those who were owned before in a file that is whole",
    story: story(
      [
        run(
          { ada: search({ segment: 2, perPage: 25, cap: 3, limit: 3 }) },
          { disk: { at: 27, code: "ENOSPC", once: false } },
        ),
        run(
          { ada: search({ segment: null, perPage: 4, cap: 16 }) },
          { disk: { at: 82, code: "ENOSPC", once: false } },
        ),
      ],
      { random: 0, jobs: { budget: null, jobs: [{ command: "search", segment: 0, cap: 10 }] } },
    ),
  },
  {
    name: "an owned one first (seed 46103)",
    found: "the model had an agent read the first of a segment where one of it was owned",
    story: story(
      [
        run({ ada: { kind: "sample", segment: 1, rows: 1, cap: 1 } }),
        run({ ada: { kind: "agent", segment: 1, profiles: 1, budget: 20, agrees: true } }),
      ],
      { random: 0, jobs: { budget: null, jobs: [{ command: "search", segment: 0, cap: 10 }] } },
    ),
  },
  {
    name: "forgotten behind its run (seed 46104)",
    found: "the model counted whom a forget took out of an agent's run as a row of it",
    story: story(
      [
        run(
          {
            ada: { kind: "agent", segment: 0, profiles: 1, budget: 20, agrees: true },
            cy: { kind: "console", segment: 0, profiles: 1 },
          },
          { mishaps: [befalls("interrupt", 8)] },
        ),
        run({ ada: { kind: "forget", nth: 0 } }),
      ],
      { random: 0, jobs: { budget: null, jobs: [{ command: "search", segment: 0, cap: 10 }] } },
    ),
  },
  {
    name: "hidden behind its run (seed 46104)",
    found: "the model did not count who was suppressed after a run had brought him",
    story: story(
      [
        run(
          {
            ada: { kind: "agent", segment: 0, profiles: 1, budget: 20, agrees: true },
            cy: { kind: "console", segment: 0, profiles: 1 },
          },
          { mishaps: [befalls("interrupt", 8)] },
        ),
        run({ ada: { kind: "suppress", nth: 0 } }),
      ],
      { random: 0, jobs: { budget: null, jobs: [{ command: "search", segment: 0, cap: 10 }] } },
    ),
  },
  {
    name: "killed behind a full disk (seed 46103)",
    found: "a claim of who was killed stood for ever: the model let it name a living process",
    story: story(
      [
        run(
          { ada: { kind: "jobs", due: false } },
          { disk: { at: 13, code: "ENOSPC", once: false } },
        ),
        run(
          { ada: { kind: "resume", nth: null, cap: 1, limit: null } },
          { mishaps: [befalls("kill", 0)] },
        ),
        { kind: "revoke", nth: 0 },
      ],
      { random: 0, jobs: { budget: null, jobs: [{ command: "search", segment: 0, cap: 10 }] } },
    ),
  },
];
