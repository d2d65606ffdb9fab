import { expect, test } from "vitest";
import { inKeys } from "../../src/app/jobs/order.ts";
import { flagsOf } from "../../src/shared/contract/command-line.ts";
import {
  CliError,
  clauses,
  command,
  option,
  saidAt,
  say,
  tells,
  withinBounds,
} from "../../src/shared/errors.ts";

const TITLE = "vp --limit 5; headcount resume X --max-credits 3";
const jobs = inKeys("search");

test("a sentence has an option as its door calls it, and whatever a user typed as it is", () => {
  const sentence = say`nobody has "${TITLE}": ${option("max_credits", 20)} or ${option("format", "csv")}`;
  expect(`${sentence}`).toBe(`nobody has "${TITLE}": --max-credits 20 or --format csv`);
  expect(`${saidAt(sentence, jobs)}`).toBe(
    `nobody has "${TITLE}": "max_credits": 20 or "format": "csv"`,
  );
});

test("a door leaves out the clause that it has no word for, and a user's semicolon parts none", () => {
  const again = say`the same with ${option("again")} begins anew`;
  const all = clauses(`"${TITLE}" stays`, again, say`${option("limit", 3)} fits`);
  expect(`${all}`).toBe(`"${TITLE}" stays; the same with --again begins anew; --limit 3 fits`);
  expect(`${saidAt(all, jobs)}`).toBe(`"${TITLE}" stays; "limit": 3 fits`);
  expect(saidAt(again, jobs)).toBeUndefined();
});

test("a command is typed as a shell takes it, and known in a sentence that tells it", () => {
  const next = command("refresh", {
    segment: flagsOf({ title: TITLE }),
    options: [option("output", "a list.csv")],
  });
  expect(`${next}`).toBe(`headcount refresh --title='${TITLE}' -o 'a list.csv'`);
  const hint = clauses("first", say`${next} goes on`);
  expect([tells(hint, next), tells(`${hint}`, next), tells(hint, command("resume"))]).toEqual([
    true,
    false,
    false,
  ]);
});

test("what goes on is told by the command itself, not by how a text begins", () => {
  const failure = (next: ReturnType<typeof command>, raise = {}) =>
    new CliError({ code: "incomplete", category: "incomplete", message: "m", next, raise });
  const resume = command("resume", { arguments: ["1"], options: [option("limit", 9)] });
  expect(failure(resume).resumable).toBe(true);
  expect(failure(command("runs export", { arguments: ["resume"] })).resumable).toBe(false);
  expect(JSON.parse(JSON.stringify(withinBounds(failure(resume, { limit: 9 }))))).toEqual({
    hint: "headcount resume 1 --limit 9 goes on, above what was allowed",
    resumable: false,
  });
});

test("a sentence over several lines is one line, and what stands in it keeps its own", () => {
  const own = "two\n  lines";
  const sentence = say`${own} and ${option("limit", 5)}
    in ${own}
    of it`;

  expect(`${sentence}`).toBe(`${own} and --limit 5 in ${own} of it`);
});
