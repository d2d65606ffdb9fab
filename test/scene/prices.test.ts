import { ANY, at, type Case, DOORS, product, run, tryCases } from "./scene.ts";

// What rows cost, where a service tells it late, otherwise, or not at all.

const UNTOLD = { people: 100, price: 3, tellsCosts: false } as const;

const THIRTY = Array.from({ length: 30 }, (_, index) => `c${index}.example`).join(" ");

const SILENT = {
  "neither account nor replies tell": { usedIs: "missing", tellsLeft: false },
  "replies tell a balance alone": { usedIs: "missing" },
  "replies say that it is free": { usedIs: 0 },
  "replies say that it is free, and tell no balance": { usedIs: 0, tellsLeft: false },
  "replies say too little": { usedIs: 1 },
} as const;

tryCases([
  ...product(Object.entries(SILENT), [
    DOORS.search,
    DOORS.employees,
    `enrich ${THIRTY} --yes -o o.csv`,
  ]).map(
    ([[habit, change], line]): Case => ({
      name: `is told by the balance, and the cap holds: ${habit}, ${line.slice(0, 9)}`,
      habit: { ...UNTOLD, ...change },
      steps: [run(`${line} --max-credits 50`, [0, 5], { mayDoubt: true, mayBlame: true })],
    }),
  ),
  {
    name: "a row dearer than told, in replies that tell a balance alone: passed by a page at most",
    habit: (service) => ({
      people: 200,
      usedIs: "missing",
      mishap: () => void Object.assign(service().options, { price: 2 }),
    }),
    steps: [
      run(`${DOORS.search} --max-credits 100 --concurrency 1`, 0, {
        charged: 100,
      }),
    ],
  },
  ...[true, false].map(
    (tellsLeft): Case => ({
      name: `a price that rises is paid for one page, and none goes out beside it: balance ${tellsLeft}`,
      habit: (service) => ({
        people: 200,
        tellsLeft,
        mishap: (call) => void (call === 4 && Object.assign(service().options, { price: 10 })),
      }),
      steps: [
        run(`${DOORS.search} --max-credits 150 --concurrency 1`, 5, {
          charged: 130,
          calls: 4,
          says: ["the service charged 100 credits for 10 rows"],
        }),
        // Who goes on is told what a row costs by now, whatever the account says.
        ({ service }) => void Object.assign(service.options, { pricesTold: 1 }),
        run("resume last --yes --max-credits 330", 0, {
          says: ["40 rows are paid for and not bought again, 20 to buy for 200 credits"],
          charged: 330,
          rows: 60,
        }),
      ],
    }),
  ),
  {
    name: "an empty page that does not tell what it cost, and is charged as a request",
    habit: {
      people: 237,
      maxPerPage: 100,
      price: 0.25,
      rowsUnder: "hits",
      refusal: "misleading",
      costNames: "snake",
      usedIs: "missing",
      chargesRequests: true,
      mishap: at(1, "cut"),
    },
    steps: [1, 2].map(() =>
      run("employees a.example --paging page --yes -o o.csv --concurrency 4 --limit 250", ANY, {
        mayDoubt: true,
      }),
    ),
  },
]);
