import { useSignal } from "@preact/signals";
import { useEffect, useId } from "preact/hooks";
import type { KeysAnswer } from "../../service/console/account.ts";
import { ApiError, api } from "../api.ts";
import { amount, dayOf, figure } from "../segment.ts";
import { may, newKey } from "../state.ts";
import {
  Alert,
  Button,
  Choice,
  Dialog,
  DialogButtons,
  Head,
  isWholeNumber,
  Shown,
  SubmitForm,
  Text,
  useLoaded,
  useWork,
} from "./parts.tsx";

type Key = KeysAnswer["keys"][number];

const DAY_MS = 86_400_000;
const MOST_DAYS = 36_500;
const MODES = (["live", "test"] as const).map((mode) => [mode, mode] as const);
const SCOPES = ["count", "search", "enrich", "employees"] as const;

const stateOf = ({ expires, mode, revoked }: Key): string => {
  if (revoked !== null) return "revoked";
  return expires !== null && Date.parse(expires) <= Date.now() ? "expired" : mode;
};

export function KeysPage() {
  const { answer, load } = useLoaded<KeysAnswer>("/keys");
  const revoking = useSignal<Key | undefined>(undefined);

  const close = (): void => {
    revoking.value = undefined;
    load();
  };

  return (
    <>
      <h1>API keys</h1>
      {may.value.own ? <NewKey onMade={load} /> : null}
      {answer?.keys.map((key) => (
        <section key={key.id} class="card" aria-label={`Key ${key.name}`}>
          <Head title={<h2>{key.name}</h2>} beside={<span class="badge">{stateOf(key)}</span>} />
          <p>
            <code>{key.prefix}</code> <span class="soft">{key.id}</span>
          </p>
          <p class="soft">
            Made {dayOf(key.made)} ·{" "}
            {key.used === null ? "never used" : `last used ${dayOf(key.used)}`} ·{" "}
            {key.expires === null ? "does not expire" : `expires ${dayOf(key.expires)}`} ·{" "}
            {key.scopes === null ? "all calls" : key.scopes.join(", ")}
          </p>
          <p>
            {amount(key.credits, "credit")} spent
            {key.cap === null
              ? ", no cap"
              : `, ${figure(key.cap_left ?? 0)} of its cap of ${figure(key.cap)} left`}
          </p>
          {key.revoked === null && may.value.own ? (
            <Button look="danger" act={() => (revoking.value = key)} text="Revoke…" />
          ) : null}
        </section>
      ))}
      {revoking.value === undefined ? null : <Revoke item={revoking.value} onDone={close} />}
    </>
  );
}

/** Of what was typed; nothing typed is no bound. */
function boundsOf(cap: string, days: string) {
  if (!isWholeNumber(days) || days === "0" || Number(days) > MOST_DAYS)
    throw new Error(`days: a whole number from 1 to ${MOST_DAYS}; empty for no end`);
  if (!isWholeNumber(cap)) throw new Error("at most credits: a whole number; empty for no cap");

  const end = new Date(Date.now() + Number(days) * DAY_MS);
  return {
    max_credits: cap === "" ? undefined : Number(cap),
    expires_at: days === "" ? undefined : end.toISOString(),
  };
}

function NewKey({ onMade }: { readonly onMade: () => void }) {
  const [name, mode, cap, days] = [
    useSignal(""),
    useSignal<"live" | "test">("live"),
    useSignal(""),
    useSignal(""),
  ];
  const scopes = useSignal<readonly string[]>([]);
  const { act, problem } = useWork(onMade);
  const id = useId();

  const make = async (): Promise<void> => {
    const { key } = await api<{ key: string }>("POST", "/keys", {
      name: name.value,
      mode: mode.value,
      ...boundsOf(cap.value, days.value),
      scopes: scopes.value.length === 0 ? undefined : scopes.value,
    });
    [name.value, newKey.value] = ["", key];
  };

  const tick = (scope: string, isTicked: boolean): void => {
    const others = scopes.value.filter((each) => each !== scope);
    scopes.value = isTicked ? [...others, scope] : others;
  };

  return (
    <SubmitForm class="card" act={() => act(make())} aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>New key</h2>
      <div class="row form">
        <Text label="Name" required maxLength={80} text={name} />
        <Choice name="Mode" chosen={mode} options={MODES} />
        <Text label="At most credits" inputMode="numeric" placeholder="no cap" text={cap} />
        <Text label="Days" inputMode="numeric" placeholder="no end" text={days} />
      </div>
      <fieldset>
        <legend>Allowed calls: all, unless some are ticked</legend>
        {SCOPES.map((scope) => (
          <label key={scope} class="tick">
            <input
              type="checkbox"
              checked={scopes.value.includes(scope)}
              onChange={(event) => tick(scope, event.currentTarget.checked)}
            />{" "}
            {scope}
          </label>
        ))}
      </fieldset>
      <Alert text={problem.value} />
      <Button look="main" text="Create key" />
    </SubmitForm>
  );
}

export function NewKeyOnce({ text }: { readonly text: string }) {
  useEffect(() => {
    const stay = (event: BeforeUnloadEvent): void => event.preventDefault();
    addEventListener("beforeunload", stay);
    return () => removeEventListener("beforeunload", stay);
  }, []);

  return (
    <section class="card kept" aria-label="The new key">
      <h2>This is shown once</h2>
      <Shown testId="new-key">{text}</Shown>
      <div class="head">
        <Button
          act={() => navigator.clipboard?.writeText(text).catch(() => undefined)}
          text="Copy"
        />
        <Button look="main" act={() => (newKey.value = undefined)} text="I have kept it" />
      </div>
    </section>
  );
}

/** By a click alone only what was not used lately. */
function Revoke({ item, onDone }: { readonly item: Key; readonly onDone: () => void }) {
  const isBusy = useSignal(item.used !== null && Date.now() - Date.parse(item.used) < DAY_MS);
  const typed = useSignal("");
  const { act, problem } = useWork(onDone);

  const revoke = (): Promise<unknown> =>
    api("DELETE", `/keys/${item.id}`, { confirm: typed.value }).catch((error: unknown) => {
      if (!(error instanceof ApiError) || error.code !== "confirm") throw error;
      isBusy.value = true;
      throw new Error(`${error.message}: type ${item.name}`);
    });

  return (
    <Dialog title={`Revoke ${item.name}?`} onClose={onDone}>
      <p>Whoever uses {item.prefix} is refused from now on. This cannot be undone.</p>
      {isBusy.value ? <Text label="Its name, since it was used within a day" text={typed} /> : null}
      <Alert text={problem.value} />
      <DialogButtons onClose={onDone}>
        <Button look="danger" act={() => act(revoke())} text="Revoke" />
      </DialogButtons>
    </Dialog>
  );
}
