import { useSignal } from "@preact/signals";
import { api, reasonOf } from "../api.ts";
import { amount } from "../segment.ts";
import { fail } from "../state.ts";
import { Alert, DatasetFacts, Dialog, isWholeNumber, Shown, Text, useLoaded } from "./parts.tsx";

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
  readonly live: { readonly balance: number; readonly held: number };
}

export function AccountsPage() {
  const { found, load } = useLoaded<{ accounts: readonly Account[] }>("/accounts");
  const [id, problem] = [useSignal(""), useSignal("")];
  const make = (event: Event): void => {
    event.preventDefault();
    api("POST", "/accounts", { id: id.value.trim() })
      .then(() => {
        id.value = "";
        problem.value = "";
        load();
      })
      .catch((error: unknown) => (problem.value = reasonOf(error)));
  };
  return (
    <>
      <h1>Accounts</h1>
      <form class="card line" onSubmit={make}>
        <Text label="New account" required maxLength={63} text={id} />
        <button type="submit">Create</button>
        <span class="problem" role="alert">
          {problem.value}
        </span>
      </form>
      {found?.accounts.map((account) => (
        <AccountCard key={account.id} account={account} onChange={load} />
      ))}
      <Sessions />
    </>
  );
}

function AccountCard({ account, onChange }: { readonly account: Account; readonly onChange: () => void }) {
  const { id, keys, live, name, plan, suspended } = account;
  const [credits, note, link, problem] = [useSignal(""), useSignal(""), useSignal(""), useSignal("")];
  // One reference for each form that is filled in: pressed twice, it adds once.
  const reference = useSignal(crypto.randomUUID());
  const isAsking = useSignal(false);
  const act = (work: Promise<unknown>): void => {
    work
      .then(() => {
        problem.value = "";
        onChange();
      })
      .catch((error: unknown) => (problem.value = reasonOf(error)));
  };
  const add = (event: Event): void => {
    event.preventDefault();
    if (!/^(?=.*[1-9])\d{1,12}(\.\d{1,6})?$/.test(credits.value.trim())) {
      problem.value = `${credits.value} credits cannot be added: a number above 0, with at most 6 decimals`;
      return;
    }
    const body = { credits: Number(credits.value), note: note.value, reference: reference.value };
    act(
      api("POST", `/accounts/${id}/credits`, body).then(() => {
        [credits.value, note.value, reference.value] = ["", "", crypto.randomUUID()];
      }),
    );
  };
  return (
    <section class="card" aria-label={`Account ${id}`}>
      <div class="head">
        <h2>{name === id ? id : `${name} (${id})`}</h2>
        {suspended === null ? null : <span class="badge stopped">suspended</span>}
      </div>
      <p>
        {amount(live.balance, "credit")} · {amount(keys, "key")} · plan {plan.name}
      </p>
      <form class="row" onSubmit={add}>
        <Text label="Credits" inputMode="numeric" required text={credits} />
        <Text label="Note" required maxLength={200} text={note} />
        <button type="submit">Add credits</button>
      </form>
      <PlanForm account={account} act={act} />
      <div class="head">
        <button
          type="button"
          class="quiet"
          onClick={() =>
            act(api<{ url: string }>("POST", `/accounts/${id}/link`).then((made) => (link.value = made.url)))
          }
        >
          Sign-in link
        </button>
        <button
          type="button"
          class="quiet"
          onClick={() => {
            if (suspended === null) isAsking.value = true;
            else act(api("POST", `/accounts/${id}/suspend`, { suspended: false }));
          }}
        >
          {suspended === null ? "Suspend" : "Resume"}
        </button>
      </div>
      {isAsking.value ? <Suspend id={id} onClose={() => (isAsking.value = false)} onDone={onChange} /> : null}
      {link.value === "" ? null : <Shown>{link.value}</Shown>}
      <Alert text={problem.value} />
    </section>
  );
}

interface SuspendProps {
  readonly id: string;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

/** Ends the buying of a whole account, perhaps one's own: only once its id is typed. */
function Suspend({ id, onClose, onDone }: SuspendProps) {
  const [typed, problem] = [useSignal(""), useSignal("")];
  const suspend = (): void => {
    api("POST", `/accounts/${id}/suspend`, { suspended: true, confirm: typed.value.trim() })
      .then(() => {
        onClose();
        onDone();
      })
      .catch((error: unknown) => (problem.value = reasonOf(error)));
  };
  return (
    <Dialog title={`Suspend ${id}?`} onClose={onClose}>
      <p>
        Its keys and sessions count and buy nothing from now on; exports stop. Nothing is lost, and Resume undoes it.
      </p>
      <Text label={`Type ${id} to confirm`} text={typed} />
      <Alert text={problem.value} />
      <div class="head">
        <button type="button" class="quiet" onClick={onClose}>
          Cancel
        </button>
        <button type="button" class="danger" onClick={suspend}>
          Suspend
        </button>
      </div>
    </Dialog>
  );
}

interface PlanFormProps {
  readonly account: Account;
  readonly act: (work: Promise<unknown>) => void;
}

/** What the account's keys may ask for. An empty bound of small counts is none. */
function PlanForm({ account: { id, plan }, act }: PlanFormProps) {
  const [minute, day] = [useSignal(String(plan.per_minute)), useSignal(String(plan.per_day))];
  const small = useSignal(plan.small_counts === null ? "" : String(plan.small_counts));
  const change = (event: Event): void => {
    event.preventDefault();
    const wrong = [minute, day, small].find(({ value }) => !isWholeNumber(value));
    if (wrong !== undefined) {
      act(Promise.reject(new Error(`${wrong.value} is no whole number`)));
      return;
    }
    const small_counts = small.value.trim() === "" ? null : Number(small.value);
    const body = { per_minute: Number(minute.value), per_day: Number(day.value), small_counts };
    act(api("PUT", `/accounts/${id}/plan`, body));
  };
  return (
    <form class="row" onSubmit={change}>
      <Text label="Calls a minute" inputMode="numeric" required text={minute} />
      <Text label="Calls a day" inputMode="numeric" required text={day} />
      <Text label="Bound counts below (people)" inputMode="numeric" text={small} />
      <button type="submit">Change plan</button>
    </form>
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
  return (
    <section class="card" aria-labelledby="sessions">
      <h2 id="sessions">Sessions</h2>
      <ul class="plain">
        {found?.sessions.map(({ account, id, own, role, seen }) => (
          <li key={id} class="line">
            <code>{id}</code>
            <span class="soft">
              {role} of {account} · seen {new Date(seen).toLocaleTimeString()}
            </span>
            {own ? (
              <span class="badge">this one</span>
            ) : (
              <button
                type="button"
                class="quiet"
                onClick={() => void api("DELETE", `/sessions/${id}`).then(load).catch(fail)}
              >
                End
              </button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

export function DatasetPage() {
  const breaches = useSignal<readonly string[] | undefined>(undefined);
  const isBusy = useSignal(false);
  const verify = (): void => {
    isBusy.value = true;
    api<{ breaches: readonly string[] }>("POST", "/verify")
      .then((found) => (breaches.value = found.breaches))
      .catch(fail)
      .finally(() => (isBusy.value = false));
  };
  return (
    <>
      <h1>Dataset</h1>
      <section class="card" aria-label="Dataset">
        <table class="facts">
          <tbody>
            <DatasetFacts />
          </tbody>
        </table>
        <p class="soft">
          <code>headcount service import</code> replaces it; the service goes over to the new one by itself.
        </p>
      </section>
      <section class="card" aria-labelledby="books">
        <h2 id="books">The books</h2>
        <button type="button" disabled={isBusy.value} onClick={verify}>
          Verify the ledger
        </button>
        <p role="status">
          {breaches.value === undefined
            ? ""
            : breaches.value.length === 0
              ? "Sound: every credit is accounted for."
              : breaches.value.join(" ")}
        </p>
      </section>
    </>
  );
}
