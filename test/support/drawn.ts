import fc from "fast-check";

/** What CI draws: the same cases of every property each time, so that what lands hangs on the change and not on the draw. */
const OF_CI = 20_261_129;

// Where a person runs the tests, properties draw new cases each time; `npm run campaign properties` draws many.
const asked = process.env.HEADCOUNT_SEED ?? (process.env.CI ? String(OF_CI) : undefined);
if (asked !== undefined) fc.configureGlobal({ seed: Number(asked) });
