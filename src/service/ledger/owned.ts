// Tested by test/service/owned.test.ts.
import { createHmac, randomBytes } from "node:crypto";
import { change, insert, type Steps } from "./database.ts";
import { type LedgerDatabase, placeIn } from "./facts.ts";
import { chunks } from "./marks.ts";
import type { PeopleStore } from "./records.ts";

const LOOKED_AT = 1_000;
const PLACES = Array.from({ length: LOOKED_AT }, (_, at) => `$${at + 1}`).join(", ");
const OWNED = `SELECT mark FROM owned WHERE mark IN (${PLACES})`;

/** Whom an account has bought: marks under a key of this ledger, and nobody's name or id. */
export function ownedPeople(
  database: LedgerDatabase,
): Pick<PeopleStore, "marks" | "owned" | "ownedByAny" | "ownsAnybody" | "disown"> {
  let reading: Promise<string> | undefined;
  const secret = (): Promise<string> => {
    reading ??= secretOf(database);
    reading.catch(() => {
      reading = undefined;
    });
    return reading;
  };

  const marks: PeopleStore["marks"] = async ({ accountId, mode }, ids) => {
    const key = await secret();
    // Of each account and mode its own: marks of two of them do not say that they mean one person.
    return ids.map((id) =>
      createHmac("sha256", key)
        .update(`${mode}\n${accountId}\n${id}`)
        .digest("base64url")
        .slice(0, 22),
    );
  };

  const owned: PeopleStore["owned"] = async (some) => {
    const found = new Set<string>();
    for (const asked of chunks(some, LOOKED_AT)) {
      // Of one length, so that it is one statement.
      const values = Array.from({ length: LOOKED_AT }, (_, at) => asked[at] ?? "");
      for (const { mark } of await database.read(OWNED, ...values)) found.add(mark as string);
    }
    return found;
  };

  const ownedByAny: PeopleStore["ownedByAny"] = async (ids) => {
    if (ids.length === 0) return [];
    const all: string[] = [];
    for (const row of await database.read("SELECT account_id, mode FROM balances"))
      all.push(...(await marks(placeIn(row), ids)));
    return [...(await owned(all))];
  };

  return {
    marks,
    owned,

    async ownsAnybody({ accountId, mode }) {
      const sql = `SELECT 1 FROM usage WHERE account_id = $1 AND mode = $2
        AND call IN ('person_search', 'company_employees') AND sold > 0 LIMIT 1`;
      return (await database.read(sql, accountId, mode)).length > 0;
    },

    ownedByAny,

    async disown(ids) {
      const all = await ownedByAny(ids);
      if (all.length > 0) await database.change("durable", () => removeMarks(all));
    },
  };
}

/** Made once, by whoever needs it first. */
async function secretOf(database: LedgerDatabase): Promise<string> {
  const sql = "SELECT secret FROM secrets WHERE name = 'owned'";
  const [known] = await database.read(sql);
  if (known !== undefined) return known.secret as string;

  const row = { name: "owned", secret: randomBytes(32).toString("base64url") };
  await database.change("durable", () => insert("secrets", row, "ON CONFLICT (name) DO NOTHING"));
  const [made] = await database.read(sql);
  return made?.secret as string;
}

function* removeMarks(marks: readonly string[]): Steps<void> {
  for (const mark of marks) yield* change("DELETE FROM owned WHERE mark = $1", mark);
}
