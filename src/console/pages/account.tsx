import { counted, grouped } from "../segment.ts";
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
        <p class="number small">{grouped(money?.balance ?? 0)}</p>
        <p class="soft">
          {counted(money?.held ?? 0, "credit")} held by calls in flight · {counted(money?.used_today ?? 0, "credit")}{" "}
          used today (UTC)
        </p>
      </section>
      <Usage />
      <Ledger />
    </>
  );
}
