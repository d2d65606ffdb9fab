import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import {
  ANY,
  ask,
  type Case,
  DOORS,
  EVERY_DOOR,
  idsIn,
  product,
  run,
  type Scene,
  tryCases,
  turns,
} from "./scene.ts";

// A service whose replies are no JSON: a row of them, what stands round the rows, or nothing of them at all.

/** The rows of a page each for itself, as the service wrote them, with a slip in one. */
const inRow =
  (at: number, slip: (row: string) => string) =>
  (text: string): string => {
    const { result } = JSON.parse(text) as { readonly result: object };
    const rows = [result, ...Object.values(result)].find(Array.isArray) ?? [];
    const row = JSON.stringify(rows[at]);
    return text.replace(row, () => slip(row));
  };

const NAN = (row: string): string => row.replace(/\}$/, ',"score":NaN}');
const first =
  (spell: (text: string) => string) =>
  (text: string, calls: number): string =>
    calls === 0 ? spell(text) : text;

/** Up to where this begins, or ends, as a way that closes early leaves it: HTTP tells nobody. */
const until = (what: string) => (text: string) => text.slice(0, text.indexOf(what));
const through = (what: string) => (text: string) => text.slice(0, text.indexOf(what) + what.length);

/** The charge before the rows. */
const toldFirst = (spell: (text: string) => string) => (text: string) => {
  const { result, ...facts } = JSON.parse(text) as { readonly result: object };
  return spell(JSON.stringify({ ...facts, result }));
};

/** Between two rows, behind the one and behind the comma. */
const BETWEEN = [until(',{"id":1000012'), until('{"id":1000012')] as const;

const half = (text: string): string => text.slice(0, text.length / 2);
const PROMISED = { idempotent: true, announcesKeys: true, version: () => "v1" };

const SEARCH = "search --country x -o o.csv --yes --receipt r.json --per-page 25 --concurrency 1";

/** All journals that are kept. */
const kept = ({ file }: Scene["u"]): string =>
  readdirSync(file("state"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith("journal.ndjson"))
    .map((name) => readFileSync(join(file("state"), name), "utf8"))
    .join();

const without =
  (at: number) =>
  ({ service, u }: Scene): void =>
    expect(idsIn(u)).toEqual(service.ids().filter((_, index) => index !== at));

/** Whatever is done with such a run goes on with the rows there are, and buys nothing. */
const GOES_ON = [
  run("resume last --yes", ANY, { charged: 60, silent: ["bug"] }),
  run("runs export last --force --format ndjson", 0, {
    charged: 60,
    says: ["1 paid row cannot be read", "row 4 of page 1 in"],
    check: (_: Scene, { stdout }: { readonly stdout: string }) =>
      expect(stdout.trim().split("\n").length).toBe(59),
  }),
  run("runs export last --require-complete --format ndjson", 5, { charged: 60 }),
  run("runs list --json", 0, {
    out: [{ status: "finished", problem: expect.stringContaining("row 4 of page 1") }],
  }),
  run("owned --json", 0, { silent: ["bug"] }),
  run("sql select --json", ANY, { silent: ["bug"] }),
];

tryCases([
  {
    name: "of a reply that breaks off as many are lost as it says that it charged for, and are no rows",
    habit: {
      people: 55,
      spelled: (text, calls) => {
        if (calls !== 5) return text;
        const { result, ...facts } = JSON.parse(text) as { readonly result: object };
        const whole = JSON.stringify({ ...facts, result });
        return whole.slice(0, whole.indexOf('{"id":1000052') + 20);
      },
    },
    steps: [
      run("employees acme.example --limit 60 --per-page 10 -o o.csv --yes --concurrency 1", 5, {
        charged: 55,
        isWritten: true,
        says: ["3 paid rows cannot be read"],
      }),
    ],
  },
  ...Object.entries<(row: string) => string>({
    NaN: NAN,
    None: (row) => row.replace(/\}$/, ',"score":None}'),
    "a trailing comma": (row) => row.replace(/\}$/, ",}"),
    "no brace at its end": (row) => row.slice(0, -1),
  }).map(
    ([name, slip]): Case => ({
      name: `one row of a page has ${name}: the others are delivered, it is named and kept, exit 5`,
      habit: { people: 60, spelled: first(inRow(3, slip)) },
      steps: [
        run(SEARCH, 5, {
          charged: 60,
          // A brace that is missing may have taken a cursor with it: a page of one row tells how pages follow.
          calls: name === "no brace at its end" ? 7 : 3,
          isWritten: true,
          says: ["1 paid row cannot be read", "row 4 of page 1 in", "journal.ndjson", "--again"],
          silent: ["bug"],
          receipt: { received: 59, unread: 1, credits: 60, complete: false, uncertain_credits: 0 },
          check: without(3),
        }),
        ...(name === "NaN" ? GOES_ON : []),
      ],
    }),
  ),
  ...product(["null", '"x"', "7", '[{"id":9}]'], [0, 24]).map(
    ([row, at]): Case => ({
      name: `a row that is ${row}, at place ${at + 1}, holds its place, whatever is done then`,
      habit: { people: 60, version: () => "v1", spelled: first(inRow(at, () => row)) },
      steps: [
        run(`${SEARCH} --max-credits 30`, 5, {
          charged: 30,
          calls: 2,
          isWritten: true,
          says: ["--max-credits 60 buys the other 30"],
        }),
        run("resume last --yes --max-credits 60 --overwrite", 5, {
          charged: 60,
          isWritten: true,
          says: ["1 paid row cannot be read", `row ${at + 1} of page 1 in`],
          check: without(at),
        }),
        run("resume last --yes --max-credits 90 --overwrite", ANY, { charged: 60 }),
        run(`${SEARCH} --overwrite --max-credits 90`, ANY, { charged: 60 }),
        run("read last --json --limit 60", ANY, { charged: 60, silent: ["bug"] }),
      ],
    }),
  ),
  ...["null", '"x"'].map(
    (row): Case => ({
      name: `a whole page of ${row} is the last one: the next would be such too`,
      habit: { people: 60, shape: (rows) => rows.map(() => JSON.parse(row) as unknown) },
      steps: [
        run(SEARCH, 5, { charged: 25, calls: 1, says: ["none of its rows is a record", "page 1"] }),
        run("runs export last --format ndjson", ANY, { charged: 25, silent: ["bug"] }),
      ],
    }),
  ),
  {
    name: "pages of one row, one of them null",
    habit: {
      people: 4,
      spelled: (text, calls) => (calls === 1 ? inRow(0, () => "null")(text) : text),
    },
    steps: [
      run("employees acme.example --limit 9 --per-page 1 -o o.csv --yes", 5, {
        charged: 4,
        isWritten: true,
        says: ["1 paid row cannot be read"],
        check: without(1),
      }),
      run("resume last --yes", ANY, { charged: 4 }),
    ],
  },
  ...Object.entries<(text: string) => string>({
    "a trailing comma behind it": (text) => text.replace(/\}$/, ",}"),
    "a trailing comma in the list": (text) => text.replace(/\](,"credits_used")/, ",]$1"),
    "NaN beside the rows": (text) => text.replace(/\}$/, ',"took":NaN}'),
    "a mark at its front": (text) => `\ufeff${text}`,
    "a second document": (text) => `${text}\n{"debug":1}`,
  }).map(
    ([name, spell]): Case => ({
      name: `a reply with ${name} is bought once, and all of its rows come`,
      habit: { people: 60, spelled: spell },
      steps: [
        run(`${SEARCH} --max-credits 60`, 0, {
          charged: 60,
          calls: 3,
          rows: 60,
          receipt: { received: 60, unread: 0, complete: true },
        }),
      ],
    }),
  ),
  ...Object.entries<(text: string) => string>({
    "single quotes": (text) => text.replaceAll('"', "'"),
    "a letter in front": (text) => text.replace(/^\{/, "{x"),
    "one word": () => "{None",
  }).map(
    ([name, spell]): Case => ({
      name: `a reply of which nothing can be read (${name}) is kept, and bought once`,
      habit: { people: 60, spelled: spell },
      steps: [
        run(`${SEARCH} --max-credits 60`, 5, {
          charged: 25,
          calls: 1,
          says: ["cannot be read", "page 1 in", "not asked for again", "--again"],
          silent: ["bug"],
          mayDoubt: true,
        }),
        run("resume last --yes", ANY, { charged: 25, silent: ["bug"], mayDoubt: true }),
        run(SEARCH, ANY, { charged: 25, silent: ["bug"], mayDoubt: true }),
        run("runs export last --force --format ndjson", ANY, { silent: ["bug"], mayDoubt: true }),
        turns({ spelled: undefined }),
        run(`${SEARCH} --again`, 0, { charged: 85, rows: 60, mayDoubt: true }),
      ],
    }),
  ),
  {
    name: "a reply that breaks off is asked for again where keys are promised, and costs once",
    habit: { people: 60, ...PROMISED, spelled: first(half) },
    steps: [
      run(`${SEARCH} --max-credits 60`, 0, {
        charged: 60,
        calls: 4,
        rows: 60,
        spent: { settled: 60, uncertain: 0 },
      }),
    ],
  },
  {
    name: "one that breaks off again is kept as it came",
    habit: { people: 25, ...PROMISED, spelled: half },
    steps: [
      run(`${SEARCH} --max-credits 100`, 5, {
        charged: 25,
        calls: 2,
        isWritten: true,
        says: ["paid rows cannot be read"],
        spent: { settled: 0, uncertain: 25 },
      }),
    ],
  },
  ...product([toldFirst, (spell: (text: string) => string) => spell], BETWEEN).map(
    ([order, cut], at): Case => ({
      name: `what a reply lacks that breaks off between two rows is missing, and not bought again (${at})`,
      habit: { people: 60, spelled: first(order(cut)) },
      steps: [
        run(`${SEARCH} --max-credits 60`, 5, {
          charged: 60,
          // A page of one row tells how pages follow: the cursor may have been in what is missing.
          calls: 7,
          isWritten: true,
          says: ["13 paid rows cannot be read", "(it breaks off)", "--again"],
          silent: ["quoted at"],
          receipt: { received: 47, unread: 13, credits: 60, complete: false },
        }),
        run("resume last --yes", ANY, { charged: 60 }),
        run("runs export last --require-complete --format ndjson", 5, { charged: 60 }),
      ],
    }),
  ),
  {
    name: "the people of a company, whom nobody counts, in a reply that breaks off between two",
    habit: { people: 60, rowsUnder: "profiles", spelled: first(until(',{"id":1000003')) },
    steps: [
      run(DOORS.employees, 5, {
        charged: 60,
        isWritten: true,
        says: ["7 paid rows cannot be read", "(it breaks off)"],
      }),
    ],
  },
  ...EVERY_DOOR.map(
    (door): Case => ({
      name: `a reply that breaks off behind a brace is asked for again where keys are promised: ${door}`,
      habit: {
        people: 60,
        ...PROMISED,
        spelled: first(door === "enrich" ? through('"Springfield"}') : until(',{"id":1000003')),
      },
      steps: [
        run(`${DOORS[door]} --receipt r.json --concurrency 1`, 0, {
          charged: door === "enrich" ? 3 : 60,
          calls: door === "enrich" ? 4 : 7,
          receipt: { unread: 0, uncertain_credits: 0 },
        }),
      ],
    }),
  ),
  {
    name: "a reply that breaks off behind all of its rows, and told its charge, lacks none",
    habit: {
      people: 55,
      spelled: (text, calls) =>
        calls === 5
          ? toldFirst((whole) => whole.slice(0, whole.lastIndexOf("}]") + 1))(text)
          : text,
    },
    steps: [
      run(`${DOORS.employees} --receipt r.json --concurrency 1`, 0, {
        charged: 55,
        rows: 55,
        receipt: { received: 55, unread: 0, credits: 55, uncertain_credits: 0 },
      }),
    ],
  },
  {
    name: "a charge of which half the digits came is none",
    habit: { people: 25, spelled: through('"credits_used":2') },
    steps: [
      run(SEARCH, 0, {
        charged: 25,
        rows: 25,
        says: ["no amount that can be read tells what a call cost"],
        receipt: { credits: 25, uncertain_credits: 0 },
      }),
    ],
  },
  {
    name: "a reply that breaks off where no keys are kept is not paid for twice",
    habit: { people: 25, spelled: half },
    steps: [
      run(`${SEARCH} --max-credits 100`, 5, {
        charged: 25,
        calls: 1,
        isWritten: true,
        says: ["paid rows cannot be read"],
        mayDoubt: true,
      }),
    ],
  },
  {
    name: "forget deletes whoever is named in a row that is no JSON, and leaves the other rows",
    habit: { people: 60, spelled: first(inRow(3, NAN)) },
    steps: [
      run(SEARCH, 5, {
        isWritten: true,
        check: ({ u }) => expect(kept(u)).toContain("1000003,"),
      }),
      run("forget 1000007 --yes", ANY, {
        charged: 60,
        silent: ["bug"],
        check: ({ u }) => expect(kept(u)).not.toContain("1000007,"),
      }),
      run("forget 1000003 --yes", ANY, {
        charged: 60,
        silent: ["bug"],
        check: ({ u }) => expect(kept(u)).not.toContain("1000003,"),
      }),
      run("runs export last --format ndjson", 0, {
        check: (_, { stdout }) => expect(stdout.trim().split("\n").length).toBe(58),
      }),
      run("search --country x --new-only --dry-run", ANY, { charged: 60, silent: ["bug"] }),
    ],
  },
  {
    name: "an agent is told of a row that cannot be read, and reads the others",
    habit: { people: 60, spelled: first(inRow(3, NAN)) },
    steps: [
      ask("--max-credits 100", "buy", { filters: { country: "x" } }, 0, {
        charged: 60,
        out: { unread: 1, complete: false, profiles: 59 },
        says: ["1 paid row cannot be read"],
      }),
    ],
  },
  {
    name: "a job writes the others, and fails with 5",
    habit: { people: 60, spelled: first(inRow(3, NAN)) },
    files: {
      "jobs.json": {
        jobs: {
          a: { filters: { country: "x" }, command: "search", max_credits: 100, output: "o.csv" },
        },
      },
    },
    steps: [
      run("jobs run a --file jobs.json", 5, {
        charged: 60,
        says: ["1 paid row cannot be read"],
        check: without(3),
      }),
    ],
  },
  {
    name: "the people of a company, one of whom cannot be read",
    habit: { people: 60, spelled: first(inRow(3, NAN)) },
    steps: [
      run(DOORS.employees, 5, {
        charged: 60,
        isWritten: true,
        says: ["row 4 of page 1"],
        silent: ["bug"],
      }),
      run("resume last --yes", ANY, { charged: 60, silent: ["bug"] }),
    ],
  },
  {
    name: "a company whose record cannot be read: the others are looked up, and none is not found",
    habit: {
      spelled: (text, calls) => (calls === 1 ? text.replace('"id":9', '"id":9,"size":NaN') : text),
    },
    steps: [
      run(`${DOORS.enrich} --receipt r.json`, 5, {
        charged: 3,
        calls: 3,
        isWritten: true,
        says: ["1 paid row cannot be read"],
        receipt: { received: 2, unread: 1, misses: 0 },
        silent: ["not found", "bug"],
      }),
    ],
  },
]);
