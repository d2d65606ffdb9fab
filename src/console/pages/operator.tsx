import { useSignal } from "@preact/signals";
import { api } from "../api.ts";
import { amount } from "../segment.ts";
import { fail } from "../state.ts";
import { Alert, Button, Card, Confirm, isWholeNumber, Shown, SubmitForm, Text, useLoaded, useWork } from "./parts.tsx";

interface Account {
  readonly id: string;
  readonly name: string;
  readonly plan: {
    readonly name: string;
    readonly per_minute: number;
    readonly per_day: number;
    readonly small_counts: number | null;
  };
  readonly suspended: string | null;
  readonly keys: number;
  readonly live: { readonly balance: number };
}

export function AccountsPage() {
  const { found, load } = useLoaded<{ accounts: readonly Account[] }>("/accounts");
  const id = useSignal("");
  const { act, problem } = useWork(() => {
    id.value = "";
    load();
  });
  return (
    <>
      <h1>Accounts</h1>
      <SubmitForm class="card line" act={() => act(api("POST", "/accounts", { id: id.value.trim() }))}>
        <Text label="New account" required maxLength={63} text={id} />
        <Button text="Create" />
        <span class="problem" role="alert">
          {problem.value}
        </span>
      </SubmitForm>
      {found?.accounts.map((account) => (
        <AccountCard key={account.id} account={account} onChange={load} />
      ))}
      <Sessions />
    </>
  );
}

interface AccountProps {
  readonly account: Account;
  readonly onChange: () => void;
}

function AccountCard({ account, onChange }: AccountProps) {
  const { id, keys, live, name, plan, suspended } = account;
  const [link, whose, isAsking] = [useSignal(""), useSignal(""), useSignal(false)];
  const { act, problem } = useWork(onChange);
  const suspend = (body: object): Promise<unknown> => api("POST", `/accounts/${id}/suspend`, body);
  const makeLink = async (): Promise<void> => {
    const { url } = await api<{ url: string }>("POST", `/accounts/${id}/link`, { name: whose.value.trim() });
    link.value = url;
  };
  const close = (): boolean => (isAsking.value = false);
  return (
    <section class="card" aria-label={`Account ${id}`}>
      <div class="head">
        <h2>{name === id ? id : `${name} (${id})`}</h2>
        {suspended === null ? null : <span class="badge stopped">suspended</span>}
      </div>
      <p>
        {amount(live.balance, "credit")} · {amount(keys, "key")} · plan {plan.name}
      </p>
      <CreditsForm id={id} act={act} />
      <PlanForm account={account} act={act} />
      <SubmitForm class="row" act={() => act(makeLink())}>
        <Text label="Link for (ada-growth)" text={whose} />
        <Button text="Sign-in link" />
      </SubmitForm>
      <div class="head">
        {suspended === null ? (
          <Button look="quiet" act={() => (isAsking.value = true)} text="Suspend" />
        ) : (
          <Button look="quiet" act={() => act(suspend({ suspended: false }))} text="Resume" />
        )}
      </div>
      {isAsking.value ? (
        // Ends the buying of a whole account, perhaps one's own: only once its id is typed.
        <Confirm
          title={`Suspend ${id}?`}
          label={`Type ${id} to confirm`}
          word="Suspend"
          work={(typed) => suspend({ suspended: true, confirm: typed.trim() }).then(close)}
          onClose={close}
          onDone={onChange}
        >
          <p>
            Its keys and sessions count and buy nothing from now on; exports stop. Nothing is lost, and Resume undoes
            it.
          </p>
        </Confirm>
      ) : null}
      {link.value === "" ? null : <Shown>{link.value}</Shown>}
      <Alert text={problem.value} />
    </section>
  );
}

interface AccountFormProps {
  readonly act: (work: Promise<unknown>) => void;
}

function CreditsForm({ act, id }: AccountFormProps & { readonly id: string }) {
  const [credits, note] = [useSignal(""), useSignal("")];
  // One reference for each form that is filled in: pressed twice, it adds once.
  const reference = useSignal(crypto.randomUUID());
  const add = async (): Promise<void> => {
    if (!/^(?=.*[1-9])\d{1,12}(\.\d{1,6})?$/.test(credits.value.trim()))
      throw new Error(`${credits.value} credits cannot be added: a number above 0, with at most 6 decimals`);
    const body = { credits: Number(credits.value), note: note.value, reference: reference.value };
    await api("POST", `/accounts/${id}/credits`, body);
    [credits.value, note.value, reference.value] = ["", "", crypto.randomUUID()];
  };
  return (
    <SubmitForm class="row" act={() => act(add())}>
      <Text label="Credits" inputMode="numeric" required text={credits} />
      <Text label="Note" required maxLength={200} text={note} />
      <Button text="Add credits" />
    </SubmitForm>
  );
}

/** What the account's keys may ask for. An empty bound of small counts is none. */
function PlanForm({ account: { id, plan }, act }: AccountFormProps & Pick<AccountProps, "account">) {
  const [minute, day] = [useSignal(String(plan.per_minute)), useSignal(String(plan.per_day))];
  const small = useSignal(String(plan.small_counts ?? ""));
  const change = async (): Promise<void> => {
    const wrong = [minute, day, small].find(({ value }) => !isWholeNumber(value));
    if (wrong !== undefined) throw new Error(`${wrong.value} is no whole number`);
    const small_counts = small.value.trim() === "" ? null : Number(small.value);
    const body = { per_minute: Number(minute.value), per_day: Number(day.value), small_counts };
    await api("PUT", `/accounts/${id}/plan`, body);
  };
  return (
    <SubmitForm class="row" act={() => act(change())}>
      <Text label="Calls a minute" inputMode="numeric" required text={minute} />
      <Text label="Calls a day" inputMode="numeric" required text={day} />
      <Text label="Bound counts below (people)" inputMode="numeric" text={small} />
      <Button text="Change plan" />
    </SubmitForm>
  );
}

interface Session {
  readonly id: string;
  readonly account: string;
  readonly role: string;
  readonly own: boolean;
  readonly seen: string;
}

function Sessions() {
  const { found, load } = useLoaded<{ sessions: readonly Session[] }>("/sessions");
  const end = (id: string): void => void api("DELETE", `/sessions/${id}`).then(load).catch(fail);
  return (
    <Card id="sessions" title="Sessions">
      <ul class="plain">
        {found?.sessions.map(({ account, id, own, role, seen }) => (
          <li key={id} class="line">
            <code>{id}</code>
            <span class="soft">
              {role} of {account} · seen {new Date(seen).toLocaleTimeString()}
            </span>
            {own ? <span class="badge">this one</span> : <Button look="quiet" act={() => end(id)} text="End" />}
          </li>
        ))}
      </ul>
    </Card>
  );
}
