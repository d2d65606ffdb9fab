/** Free calls that finding people may take where nobody says another number. */
export const MAX_CALLS = 5_000;

/** Free calls that saving one credit may take. */
export const CALLS_PER_CREDIT = 5;
