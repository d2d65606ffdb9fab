// Tested by test/service/store-conformance.ts.
import { type Steps, tupled } from "./database.ts";

/** Far below how many values a statement of either database takes. */
const AT_ONCE = 4_000;

export const chunks = <Each>(all: readonly Each[], size = AT_ONCE): readonly (readonly Each[])[] =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, at) =>
    all.slice(at * size, (at + 1) * size),
  );

/** Those of these marks that are owned. */
export function* readOwned(marks: readonly string[]): Steps<ReadonlySet<string>> {
  const owned = new Set<string>();
  for (const some of chunks(marks)) {
    const { rows } = yield* tupled(
      "SELECT o.mark FROM (VALUES %) AS v JOIN owned o ON o.mark = v.column1",
      ["text"],
      some.map((mark) => [mark]),
    );
    for (const { mark } of rows) owned.add(mark as string);
  }
  return owned;
}

interface Sold {
  readonly owned: readonly { readonly mark: string; readonly holdId: string }[];
  readonly disowned: readonly string[];
}

export function* writeOwned({ disowned, owned }: Sold): Steps<void> {
  for (const some of chunks(owned))
    yield* tupled(
      "INSERT INTO owned (mark, hold_id) VALUES % ON CONFLICT (mark) DO NOTHING",
      ["text", "id"],
      some.map(({ holdId, mark }) => [mark, holdId]),
    );

  // So seldom that it needs no index.
  yield* tupled(
    "DELETE FROM owned WHERE hold_id IN (VALUES %)",
    ["id"],
    disowned.map((id) => [id]),
  );
}
