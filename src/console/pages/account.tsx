import { amount, figure } from "../segment.ts";
import { me, mode } from "../state.ts";
import { Ledger } from "./ledger.tsx";
import { Usage } from "./usage.tsx";

export function AccountPage() {
  const money = me.value?.modes.find((each) => each.mode === mode.value);
  return (
    <>
      <h1>Account</h1>
      <section class="card" aria-labelledby="balance">
        <h2 id="balance">Balance</h2>
        <p class="number small">{figure(money?.balance ?? 0)}</p>
        <p class="soft">
          {amount(money?.held ?? 0, "credit")} held by calls in flight · {amount(money?.used_today ?? 0, "credit")} used
          today (UTC)
        </p>
      </section>
      <Usage />
      <Ledger />
    </>
  );
}
