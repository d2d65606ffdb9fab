import { test } from "vitest";

/** `npm run check` tries the quick form: without files called `.long.test.ts`, and without what is marked here. */
export const QUICK = process.env.HEADCOUNT_QUICK === "1";

/** A test that takes longer than a second or so. */
export const long = test.skipIf(QUICK);
