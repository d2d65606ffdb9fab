import { expect } from "vitest";
import { ANY, at, type Case, DOORS, EVERY_DOOR, product, run, tryCases } from "./scene.ts";

// Services that tell of money late, otherwise, or while others spend: the cap holds at each, and what they took is in the books.

const LOSES = { people: 60, mishap: at([2, 4], "drop") } as const;

const HABITS: Readonly<Record<string, Case["habit"]>> = {
  "a charge told with the next reply": { people: 60, usedIs: "of the call before" },
  "a balance that is two seconds late": { people: 60, lateMs: 2_000 },
  "a balance that is two seconds late, and replies that are lost": { ...LOSES, lateMs: 2_000 },
  "replies that say that they are free, and are lost": { ...LOSES, usedIs: 0 },
  "a balance that is topped up while replies are lost": (service) => ({
    people: 60,
    mishap: (call) => {
      if (call === 3) service().spend(-1_000);
      return call === 2 || call === 4 ? "drop" : undefined;
    },
  }),
  "another client that spends all the time": (service) => ({
    people: 60,
    mishap: (call) => {
      service().spend(3);
      return call === 2 ? "drop" : undefined;
    },
  }),
  "a price that falls from the second call on": (service) => ({
    people: 60,
    price: 2,
    mishap: (call) => {
      if (call === 2) service().options.price = 1;
      return undefined;
    },
  }),
  "a limit that is waited for, and charged": {
    people: 60,
    faultCosts: 1,
    faultTells: "nothing",
    mishap: at([2, 3, 5], "429-charged"),
  },
};

tryCases([
  ...product(product(Object.entries(HABITS), EVERY_DOOR), [1, 4]).map(
    ([[[name, habit], door], concurrency]): Case => ({
      name: `${name}: ${door}, ${concurrency} under way`,
      habit,
      steps: [
        run(`${DOORS[door]} --max-credits 40 --concurrency ${concurrency}`, ANY, {
          chargedAtMost: 40,
          mayDoubt: true,
          mayBlame: true,
        }),
        run("resume last --yes", ANY, { chargedAtMost: 40, mayDoubt: true, mayBlame: true }),
      ],
    }),
  ),
  {
    name: "what an earlier run of ours took, and a late balance shows now, was spent by nobody else",
    habit: (service) => ({
      lateMs: 60_000,
      mishap: (call) => {
        if (call === 2) service().options.lateMs = 0;
        return undefined;
      },
    }),
    steps: [
      run("search --country x --limit 10 -o s.csv --yes", 0),
      run("employees acme.example --limit 10 -o o.csv --yes", 0, { charged: 20 }),
    ],
  },
  {
    name: "a balance as a person writes it is no balance: nothing is bought, and it is named",
    habit: { people: 60, groupsAmounts: true },
    steps: [
      run(`${DOORS.search} --max-credits 40`, 8, {
        says: ['the account tells its balance as "5,000", which is no amount of credits'],
        check: ({ service }) => expect(service.paidCalls()).toBe(0),
      }),
    ],
  },
]);
