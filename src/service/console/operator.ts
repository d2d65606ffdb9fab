import { creditsToNumber } from "../../shared/contract/money.ts";
import { ACCOUNT_ID, ACCOUNT_ID_RULE, newAccount } from "../admin/new-account.ts";
import {
  accountPlan,
  administered,
  bad,
  bodyText,
  byOf,
  type ConsoleCall,
  type ConsoleEndpoint,
  chosen,
  creditsField,
  MOST_CREDITS,
  modeOf,
  OPERATORS,
  wholeOf,
} from "./call.ts";
import { ConsoleRefusal } from "./guard.ts";
import { makeLink } from "./sessions.ts";

export const OPERATOR_ENDPOINTS: readonly ConsoleEndpoint[] = [
  { method: "GET", path: "/accounts", roles: OPERATORS, run: accounts },
  { method: "POST", path: "/accounts", roles: OPERATORS, run: makeAccount },
  { method: "POST", path: "/accounts/:id/credits", roles: OPERATORS, run: addCredits },
  { method: "PUT", path: "/accounts/:id/plan", roles: OPERATORS, run: setPlan },
  { method: "POST", path: "/accounts/:id/link", roles: OPERATORS, run: link },
  { method: "POST", path: "/accounts/:id/suspend", roles: OPERATORS, run: suspend },
  { method: "GET", path: "/sessions", roles: OPERATORS, run: sessions },
  { method: "DELETE", path: "/sessions/:id", roles: OPERATORS, run: endSession },
  { method: "GET", path: "/dataset", roles: OPERATORS, run: dataset },
  { method: "POST", path: "/verify", roles: OPERATORS, run: verify },
];

async function accounts({ parts }: ConsoleCall) {
  const found = await parts.store.listAccounts();
  return {
    accounts: found.map(({ createdAt, id, keys, live, name, plan, suspendedAt, test }) => ({
      id,
      name,
      plan: accountPlan(plan),
      made: new Date(createdAt).toISOString(),
      suspended: suspendedAt === null ? null : new Date(suspendedAt).toISOString(),
      keys,
      live: { balance: creditsToNumber(live.balance), held: creditsToNumber(live.held) },
      test: { balance: creditsToNumber(test.balance), held: creditsToNumber(test.held) },
    })),
  };
}

async function makeAccount({ body, parts, visitor }: ConsoleCall) {
  const id = bodyText(body.id, "id", 63);
  if (!ACCOUNT_ID.test(id)) throw bad(`${ACCOUNT_ID_RULE}, such as acme`);
  const name = body.name === undefined ? id : bodyText(body.name, "name", 80);
  await administered(newAccount(parts.store, { id, name }, byOf(visitor)));
  return { id };
}

async function accountId({ params, parts }: ConsoleCall): Promise<string> {
  const found = await parts.store.account(params.id ?? "");
  if (found === undefined) throw new ConsoleRefusal(404, "no_account", "there is no such account");
  return found.id;
}

async function addCredits(call: ConsoleCall) {
  const { body, parts, visitor } = call;
  const id = await accountId(call);
  const amount = creditsField(body.credits);
  if (amount === undefined || amount <= 0n) throw bad(`credits is a number above zero, at most ${MOST_CREDITS}`);
  const mode = modeOf(call);
  // The page makes a reference for each form that is sent, so that a click that is sent twice adds once.
  const reference = bodyText(body.reference, "reference", 100);
  const note = bodyText(body.note, "note");
  const told = { note, reference, by: byOf(visitor) };
  const { balance } = await administered(parts.store.grant(id, mode, amount, told));
  return { balance: creditsToNumber(balance) };
}

async function setPlan(call: ConsoleCall) {
  const { body, parts, visitor } = call;
  const changes = {
    ...(body.name === undefined ? {} : { name: bodyText(body.name, "name", 80) }),
    ...(body.per_minute === undefined ? {} : { perMinute: wholeOf(body.per_minute, "per_minute", 1, 1e9) }),
    ...(body.per_day === undefined ? {} : { perDay: wholeOf(body.per_day, "per_day", 1, 1e12) }),
    ...(body.small_counts === undefined ? {} : { smallCounts: smallOf(body.small_counts) }),
  };
  return { plan: accountPlan(await parts.store.setPlan(await accountId(call), changes, { by: byOf(visitor) })) };
}

const smallOf = (value: unknown): number | null => (value === null ? null : wholeOf(value, "small_counts", 1, 1e9));

async function link(call: ConsoleCall) {
  const { body, parts, visitor } = call;
  const role = chosen(body.role ?? "owner", "role", ["owner", "viewer"]);
  const token = await makeLink(parts.store, {
    accountId: await accountId(call),
    role,
    now: parts.now(),
    by: byOf(visitor),
  });
  return { url: `${parts.origin}/console/enter#t=${token}`, role, minutes: 10 };
}

async function suspend(call: ConsoleCall) {
  const { body, parts, visitor } = call;
  if (typeof body.suspended !== "boolean") throw bad("suspended is true or false");
  const id = await accountId(call);
  if (body.suspended && body.confirm !== id) {
    throw new ConsoleRefusal(409, "confirm", "all keys and sessions of the account stop buying: confirm with its id");
  }
  return { changed: await parts.store.suspendAccount(id, body.suspended, { by: byOf(visitor) }) };
}

async function sessions({ parts, visitor }: ConsoleCall) {
  const found = await parts.store.console.sessions();
  return {
    sessions: found.map(({ accountId: account, createdAt, expiresAt, id, role, seenAt }) => ({
      id,
      account,
      role,
      own: id === visitor.session.id,
      made: new Date(createdAt).toISOString(),
      seen: new Date(seenAt).toISOString(),
      expires: new Date(expiresAt).toISOString(),
    })),
  };
}

async function endSession({ params, parts, visitor }: ConsoleCall) {
  return { ended: await parts.sessions.end(params.id ?? "", byOf(visitor)) };
}

async function dataset({ parts }: ConsoleCall) {
  return parts.engine.info();
}

async function verify({ parts }: ConsoleCall) {
  return { breaches: await parts.store.verify() };
}
