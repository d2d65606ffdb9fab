import { ask, at, BUY, type Case, loadsFirst, run, tryCases } from "./scene.ts";

// What a service says that contradicts what it said before: counts and cursors. And its words, which are none of ours.

const CURSOR = `${BUY} --paging cursor --per-page 10`;

loadsFirst(true);

tryCases([
  {
    name: "parts of a key of which everybody has one value contradict a smaller total",
    habit: { people: 260 },
    steps: [
      run("count --by country=france --by country=germany", 0, {
        charged: 0,
        says: ["the counts contradict each other", "260 more than the 260 of the segment"],
      }),
      run("count --by country=france", 0, { silent: ["contradict"] }),
    ],
  } satisfies Case,
  {
    name: "a cursor that leads on behind all that were counted contradicts the count",
    habit: { people: 80, paging: "cursor", countedTooMany: -40 },
    steps: [
      run(`${CURSOR} --require-complete`, 5, {
        charged: 40,
        says: ["how many there are, nobody knows"],
      }),
    ],
  } satisfies Case,
  {
    name: "a cursor that leads on behind a limit contradicts nothing",
    habit: { people: 80, paging: "cursor" },
    steps: [run(`${CURSOR} --limit 40`, 0, { charged: 40, rows: 40, silent: ["nobody knows"] })],
  } satisfies Case,
  {
    name: "an agent is told which words are the service's",
    habit: { people: 20, mishap: at([1, 2, 3, 4, 5, 6, 7, 8], "400-charged" as never) },
    steps: [
      ask("--max-credits 50/total", "buy", { filters: { country: "x" } }, 1, {
        says: [/"Oops\." \(data of third parties/],
        mayDoubt: true,
        mayBlame: true,
        isUnbooked: true,
      }),
    ],
  } satisfies Case,
]);
