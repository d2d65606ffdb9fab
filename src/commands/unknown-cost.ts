import type { AccountView } from "../client/types.ts";
import type { Session } from "./session.ts";

/** Says where a price had to be assumed. */
export function noticeUnknownCost(account: AccountView | undefined, session: Session): void {
  if (account?.unknownCosts.some((call) => call.includes("search"))) {
    session.notice("warning: the account does not say what a profile costs; 1 credit is assumed");
  }
}
