import { useSignal } from "@preact/signals";
import { useEffect, useId } from "preact/hooks";
import { ApiError, api, reasonOf } from "../api.ts";
import { figure } from "../segment.ts";
import { may, newKey } from "../state.ts";
import { Alert, Choice, Dialog, isWholeNumber, Shown, Text, useLoaded } from "./parts.tsx";

interface Key {
  readonly id: string;
  readonly name: string;
  readonly mode: "live" | "test";
  readonly prefix: string;
  readonly scopes: readonly string[] | null;
  readonly made: string;
  readonly used: string | null;
  readonly expires: string | null;
  readonly revoked: string | null;
  readonly credits: number;
  readonly cap: number | null;
  readonly cap_left: number | null;
}

const MOST_DAYS = 36_500;
const inDays = (days: number): string => new Date(Date.now() + days * 86_400_000).toISOString();
const MODES = (["live", "test"] as const).map((mode) => [mode, mode] as const);
const SCOPES = ["count", "search", "enrich", "employees"] as const;
const day = (text: string | null): string => (text === null ? "never" : new Date(text).toLocaleDateString());

export function KeysPage() {
  const { found, load } = useLoaded<{ keys: readonly Key[] }>("/keys");
  const revoking = useSignal<Key | undefined>(undefined);
  return (
    <>
      <h1>API keys</h1>
      {may.value.own ? (
        <NewKey
          onMade={(key) => {
            newKey.value = key;
            load();
          }}
        />
      ) : null}
      {found?.keys.map((key) => (
        <section key={key.id} class="card" aria-label={`Key ${key.name}`}>
          <div class="head">
            <h2>{key.name}</h2>
            <span class="badge">{key.revoked === null ? key.mode : "revoked"}</span>
          </div>
          <p>
            <code>{key.prefix}</code> <span class="soft">{key.id}</span>
          </p>
          <p class="soft">
            Made {day(key.made)} · last used {day(key.used)} ·{" "}
            {key.expires === null ? "does not expire" : `expires ${day(key.expires)}`} · may{" "}
            {key.scopes === null ? "everything" : key.scopes.join(", ")}
          </p>
          <p>
            {figure(key.credits)} credits spent
            {key.cap === null ? ", no cap" : `, ${figure(key.cap_left ?? 0)} of its cap of ${figure(key.cap)} left`}
          </p>
          {key.revoked === null && may.value.own ? (
            <button type="button" class="danger" onClick={() => (revoking.value = key)}>
              Revoke…
            </button>
          ) : null}
        </section>
      ))}
      {revoking.value === undefined ? null : (
        <Revoke
          item={revoking.value}
          onDone={() => {
            revoking.value = undefined;
            load();
          }}
        />
      )}
    </>
  );
}

function NewKey({ onMade }: { readonly onMade: (key: string) => void }) {
  const [name, mode, cap, days] = [useSignal(""), useSignal<"live" | "test">("live"), useSignal(""), useSignal("")];
  const scopes = useSignal<readonly string[]>([]);
  const problem = useSignal("");
  const id = useId();
  const make = (event: Event): void => {
    event.preventDefault();
    if (!isWholeNumber(days.value) || Number(days.value) > MOST_DAYS) {
      problem.value = `days: a whole number of at most ${MOST_DAYS}; empty for no end`;
      return;
    }
    if (!isWholeNumber(cap.value)) {
      problem.value = "at most credits: a whole number; empty for no cap";
      return;
    }
    const body = {
      name: name.value,
      mode: mode.value,
      ...(cap.value === "" ? {} : { max_credits: Number(cap.value) }),
      ...(days.value === "" ? {} : { expires_at: inDays(Number(days.value)) }),
      ...(scopes.value.length === 0 ? {} : { scopes: scopes.value }),
    };
    api<{ key: string }>("POST", "/keys", body)
      .then(({ key }) => {
        problem.value = "";
        name.value = "";
        onMade(key);
      })
      .catch((error: unknown) => (problem.value = reasonOf(error)));
  };
  return (
    <form class="card" onSubmit={make} aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>New key</h2>
      <div class="row">
        <Text label="Name" required maxLength={80} text={name} />
        <Choice name="Mode" value={mode.value} options={MODES} onChange={(next) => (mode.value = next)} />
        <Text label="At most credits" inputMode="numeric" placeholder="no cap" text={cap} />
        <Text label="Days" inputMode="numeric" placeholder="no end" text={days} />
      </div>
      <Scopes chosen={scopes.value} onChange={(next) => (scopes.value = next)} />
      <Alert text={problem.value} />
      <button type="submit" class="main">
        Create key
      </button>
    </form>
  );
}

function Scopes({
  chosen,
  onChange,
}: {
  readonly chosen: readonly string[];
  readonly onChange: (scopes: readonly string[]) => void;
}) {
  return (
    <fieldset>
      <legend>May (everything where nothing is ticked)</legend>
      {SCOPES.map((scope) => (
        <label key={scope} class="tick">
          <input
            type="checkbox"
            checked={chosen.includes(scope)}
            onChange={(event) => {
              onChange(event.currentTarget.checked ? [...chosen, scope] : chosen.filter((each) => each !== scope));
            }}
          />{" "}
          {scope}
        </label>
      ))}
    </fieldset>
  );
}

/** A key is in one answer, and in the page until somebody says that it is kept. */
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
        <button type="button" onClick={() => void navigator.clipboard?.writeText(text).catch(() => undefined)}>
          Copy
        </button>
        <button type="button" class="main" onClick={() => (newKey.value = undefined)}>
          I have kept it
        </button>
      </div>
    </section>
  );
}

function Revoke({ item, onDone }: { readonly item: Key; readonly onDone: () => void }) {
  const typed = useSignal("");
  const problem = useSignal("");
  const id = useId();
  const revoke = (): void => {
    api("DELETE", `/keys/${item.id}`, { confirm: typed.value })
      .then(onDone)
      .catch((error: unknown) => {
        problem.value =
          error instanceof ApiError && error.code === "confirm"
            ? `${error.message}: type ${item.name}`
            : reasonOf(error);
      });
  };
  return (
    <Dialog title={`Revoke ${item.name}?`} onClose={onDone}>
      <p>Whoever uses {item.prefix} is refused from now on. This cannot be undone.</p>
      <div class="field">
        <label for={id}>Its name, where it was used within a day</label>
        <Text id={id} autocomplete="off" text={typed} />
      </div>
      <Alert text={problem.value} />
      <div class="head">
        <button type="button" class="quiet" onClick={onDone}>
          Cancel
        </button>
        <button type="button" class="danger" onClick={revoke}>
          Revoke
        </button>
      </div>
    </Dialog>
  );
}
