import { expect } from "vitest";
import { main } from "../../src/cli/main.ts";
import { rawServer, testContext } from "../support/client.ts";
import { long } from "../support/long.ts";

const REPLIES: Readonly<Record<string, object>> = {
  "/v1/person/count": { count: 7 },
};

/** What a command says on a terminal, at a service that takes its time for each call. */
async function said(argv: readonly string[], ms: number, tty = true): Promise<string> {
  const server = await rawServer(async ({ url }, response) => {
    await new Promise((done) => setTimeout(done, ms));
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ status: true, result: REPLIES[url] ?? {}, errors: [] }));
  });
  try {
    const tested = testContext({
      tty: { stderr: tty },
      argv,
      env: { HEADCOUNT_API_KEY: "hc_live_aaaaaaaaaaaaaaaa", HEADCOUNT_BASE_URL: server.url },
    });
    await main(argv, tested.context);
    return tested.stderr();
  } finally {
    await server.close();
  }
}

long("what is waited for is said after a second, on a terminal and not to -q", async () => {
  const [slow, quiet, piped, swift] = await Promise.all([
    said(["count", "--department", "Sales"], 1_500),
    said(["count", "--department", "Sales", "-q"], 1_500),
    said(["count", "--department", "Sales"], 1_500, false),
    said(["count", "--department", "Sales"], 100),
  ]);
  expect(slow).toMatch(/waiting for 127\.0\.0\.1:\d+ \(\/v1\/[a-z/]+\): /);
  for (const others of [quiet, piped, swift]) expect(others).not.toContain("waiting for");
});

long("doctor says it too, and the calls before it", async () => {
  expect(await said(["doctor"], 700)).toMatch(/waiting for [^\n]+: call \d+, /);
});
