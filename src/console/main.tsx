import { render } from "preact";
import { App, begin } from "./app.tsx";
import { countAlways, refreshMe } from "./state.ts";

const root = document.getElementById("console");
if (root !== null) {
  const signingIn = begin();
  render(<App />, root);
  // The first count need not wait until it is known who is asking; after a link it has to.
  if (location.hash.startsWith("#t=") || history.state === null) void signingIn.then(countAlways);
  else countAlways();
}
document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible") refreshMe();
});
