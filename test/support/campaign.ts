/** `HEADCOUNT_LONG=1`: the whole form of those tests that have one (`test/campaigns/others.json` names them as campaigns). */
export const LONG = process.env.HEADCOUNT_LONG === "1";

/** `HEADCOUNT_SHARE=0.1`: a tenth of the long form's cases, where a whole one takes longer than there is time. */
export const SHARE = Number(process.env.HEADCOUNT_SHARE ?? 1);
if (!(SHARE > 0 && SHARE <= 1))
  throw new Error(
    `HEADCOUNT_SHARE must be above 0 and at most 1, not ${process.env.HEADCOUNT_SHARE}`,
  );

/** How many cases a campaign has: the short form's, or of the long form's the share that was asked for, and never fewer. */
export const cases = (short: number, long: number): number =>
  LONG ? Math.max(short, Math.round(long * SHARE)) : short;

/** Every so many of the points of a campaign that goes through all of them. */
export const everyNth = (short: number): number =>
  LONG ? Math.min(short, Math.ceil(1 / SHARE)) : short;
