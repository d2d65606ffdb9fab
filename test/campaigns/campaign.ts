import { SHARE } from "../support/campaign.ts";

/** How far one run of a campaign goes. */
export interface Course {
  readonly seed: number;
  /** How many cases, of whatever the campaign counts; of one that goes through all points, so many of them, spread evenly. */
  readonly cases: number;
  /** What takes longer than a moment is done in the whole form alone. */
  readonly isWhole: boolean;
  /** Of the whole form. */
  readonly share: number;
  /** Leaves out what the campaign watches over: the control, which it must notice. */
  readonly isBroken: boolean;
}

export type Figures = Readonly<Record<string, number | string>>;

/** A way to look for what is promised and not kept. test/campaigns/results.md says of each how its last whole run ended. */
export interface Campaign {
  readonly name: string;
  readonly seed: number;
  /** `quick`: what CI plays in some two seconds. `whole`: what `npm run campaign NAME` plays. */
  readonly cases: { readonly quick: number; readonly whole: number };
  /** Whether the programs that it needs are here; they are where this is left out. */
  readonly canRun?: boolean;
  /** What is left out in the control, and what the campaign says of it. */
  readonly control: { readonly without: string; readonly seen: RegExp };
  /** @throws where something is not as promised */
  readonly run: (course: Course) => Promise<Figures>;
}

/** The whole form of a campaign that goes through all points of something. */
export const ALL = Number.POSITIVE_INFINITY;

/** Which of `total` points a course plays: each so many. */
export const stepOver = (total: number, { cases, isWhole, share }: Course): number =>
  isWhole ? Math.ceil(1 / share) : Math.max(1, total / cases);

/** `HEADCOUNT_SHARE=0.1`: a tenth of the whole form, where that takes longer than there is time. */
export function courseOf({ cases, seed }: Campaign, isWhole: boolean): Course {
  return {
    seed: Number(process.env.HEADCOUNT_SEED ?? seed),
    cases: isWhole ? Math.max(cases.quick, Math.round(cases.whole * SHARE)) : cases.quick,
    isWhole,
    isBroken: false,
    share: SHARE,
  };
}

/** What `work` is refused with, and why that was; what a campaign found is thrown by it. */
export async function refusalOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "";
  } catch (error) {
    const told: string[] = [];
    for (let each: unknown = error; each instanceof Error; each = each.cause)
      told.push(each.message);
    return told.reverse().join("\n");
  }
}
