import { render } from "preact";
import { hasProof, onOtherProof } from "./api.ts";
import { App, beginSession } from "./app.tsx";
import { countAlways, refreshMe } from "./state.ts";

const root = document.getElementById("console");
if (root !== null) {
  // The first count need not wait until it is known who
  // is asking; where nobody is signed in yet it has to.
  const isKnown = hasProof() && !location.hash.startsWith("#t=");
  const signingIn = beginSession();
  if (isKnown) countAlways();
  else void signingIn.then(countAlways);
  render(<App />, root);
}
onOtherProof(() => location.reload());
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") refreshMe();
});
