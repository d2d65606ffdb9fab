import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { api, dropProof, hasProof, keepProof, reasonOf } from "./api.ts";
import { ExportsPage } from "./pages/exports.tsx";
import { KeysPage, NewKeyOnce } from "./pages/keys.tsx";
import { Ledger } from "./pages/ledger.tsx";
import { Alert, Button, Card, SubmitForm, Text, useWork } from "./pages/parts.tsx";
import { PlanPage } from "./pages/plan.tsx";
import { SavedPage } from "./pages/saved.tsx";
import { SegmentPage } from "./pages/segment-page.tsx";
import { Usage } from "./pages/usage.tsx";
import { amount, figure, fragmentOf } from "./segment.ts";
import { fail, go, loadMe, me, mode, newKey, notice, place, signedOut } from "./state.ts";

const PAGES = [
  { id: "segment", name: "Segment", view: () => <SegmentPage /> },
  { id: "saved", name: "Saved", view: () => <SavedPage /> },
  { id: "exports", name: "Exports", view: () => <ExportsPage /> },
  { id: "account", name: "Account", view: () => <AccountPage /> },
  { id: "keys", name: "API keys", view: () => <KeysPage /> },
  { id: "plan", name: "Plan", view: () => <PlanPage /> },
] as const;

export function App() {
  if (signedOut.value !== undefined) return <Enter why={signedOut.value} />;
  if (me.value === undefined) {
    return (
      <main>
        <p class="soft">Signing in …</p>
      </main>
    );
  }

  const page = PAGES.find(({ id }) => id === place.value.page) ?? PAGES[0];
  return (
    <div class={mode.value === "test" ? "shell test" : "shell"}>
      <Button
        look="skip"
        act={() => document.getElementById("main")?.focus()}
        text="Skip to the page"
      />
      <header>
        <p class="brand">headcount</p>
        <nav aria-label="Pages">
          <ul>
            {PAGES.map(({ id, name }) => (
              <li key={id}>
                <a
                  href={fragmentOf({ ...place.value, page: id, item: undefined, tab: undefined })}
                  aria-current={id === page.id ? "page" : undefined}
                >
                  {name}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <Foot />
      </header>
      <Main page={page.id} item={place.value.item}>
        {page.view()}
      </Main>
    </div>
  );
}

interface MainProps {
  readonly children: ComponentChildren;
  readonly page: string;
  readonly item: string | undefined;
}

function Main({ children, item, page }: MainProps) {
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = `${PAGES.find(({ id }) => id === page)?.name ?? ""} · headcount`;
    notice.value = "";
    // On a phone the names of the pages are one line that scrolls.
    document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest" });
    // Who went to another page begins at its top, with the keyboard too.
    if (!isFirst.current) main.current?.focus();
    isFirst.current = false;
  }, [page, item]);

  return (
    <main id="main" ref={main} tabIndex={-1}>
      <p class="notice" role="alert" hidden={notice.value === ""}>
        {notice.value}
      </p>
      {newKey.value === undefined ? null : <NewKeyOnce text={newKey.value} />}
      {children}
    </main>
  );
}

function Foot() {
  const now = me.value;
  if (now === undefined) return null;
  const money = now.modes.find((each) => each.mode === mode.value);

  const leave = (): void => {
    if (newKey.value !== undefined) {
      notice.value = "The new key is shown this once: say first that you have kept it.";
      return;
    }

    api("DELETE", "/session")
      .catch(() => undefined)
      .then(() => {
        dropProof();
        me.value = undefined;
        signedOut.value = "You are signed out.";
      });
  };

  return (
    <div class="foot">
      <p>
        <b data-testid="balance">{figure(money?.balance ?? 0)}</b>{" "}
        {money?.balance === 1 ? "credit" : "credits"}
        <br />
        <span class="soft">
          {now.account.name} · {now.role}
        </span>
      </p>
      {now.modes.length > 1 ? (
        <Button
          look="mode"
          aria-pressed={mode.value === "test"}
          act={() => go({ mode: mode.value === "test" ? undefined : "test" })}
          text={mode.value === "test" ? "TEST mode" : "LIVE mode"}
        />
      ) : null}
      <Button look="quiet" act={leave} text="Sign out" />
    </div>
  );
}

function Enter({ why }: { readonly why: string }) {
  const key = useSignal("");
  const { act, problem } = useWork();

  return (
    <main class="enter">
      <h1>headcount</h1>
      <p role="alert">{why}</p>
      <p>
        On the machine of the service, <code>headcount service link</code> prints a link that signs
        in.
      </p>
      <SubmitForm class="card" act={() => act(signIn({ key: key.value }))}>
        <Text label="Or sign in with an API key" type="password" required text={key} />
        <Alert text={problem.value} />
        <Button look="main" text="Sign in" />
      </SubmitForm>
    </main>
  );
}

async function signIn(body: { readonly link: string } | { readonly key: string }): Promise<void> {
  const { proof } = await api<{ proof: string }>("POST", "/session", body);
  keepProof(proof);
  await loadMe();
}

/** Signs in by the link in the address, or finds the session that is there. */
export async function beginSession(): Promise<void> {
  const link = /^#t=([\w-]+)$/.exec(location.hash)?.[1];
  try {
    if (link !== undefined) {
      // Out of the address before anything else: it is a secret, if one that serves once.
      history.replaceState(null, "", "/console/");
      await signIn({ link });
    } else if (hasProof()) await loadMe();
    else signedOut.value = "Nobody is signed in here.";
  } catch (error) {
    if (link !== undefined) signedOut.value = reasonOf(error);
    else fail(error);
    if (me.value === undefined && signedOut.value === undefined) signedOut.value = reasonOf(error);
  }
}

function AccountPage() {
  const money = me.value?.modes.find((each) => each.mode === mode.value);
  return (
    <>
      <h1>Account</h1>
      <Card id="balance" title="Balance">
        <p class="number small">{figure(money?.balance ?? 0)}</p>
        <p class="soft">
          {amount(money?.held ?? 0, "credit")} held by calls in flight ·{" "}
          {amount(money?.used_today ?? 0, "credit")} used today (UTC)
        </p>
      </Card>
      <Usage />
      <Ledger />
    </>
  );
}
