import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { describe, expect, test } from "vitest";
import { mapError } from "../../src/app/failures.ts";
import { parseBaseUrl } from "../../src/engine/client/addresses.ts";
import { DEFAULT_DIALECT } from "../../src/engine/client/dialect.ts";
import { createClient } from "../../src/engine/client/http-client.ts";
import { proxyFor } from "../../src/engine/client/transport.ts";
import { answerEnvelope, rawServer } from "../support/client.ts";

const API = new URL("https://api.example.com");

describe("which proxy", () => {
  test.each<[Record<string, string>, string | undefined]>([
    [{}, undefined],
    [{ HTTPS_PROXY: "http://p:3128" }, "http://p:3128/"],
    [{ https_proxy: "http://p:3128" }, "http://p:3128/"],
    [{ https_proxy: "  http://p:3128 \n" }, "http://p:3128/"],
    [{ https_proxy: "", HTTPS_PROXY: "http://p:3128" }, "http://p:3128/"],
    [{ HTTP_PROXY: "http://q:1" }, "http://q:1/"],
    [{ HTTPS_PROXY: " " }, undefined],
  ])("%j", (env, expected) => {
    expect(proxyFor(API, env)?.href).toBe(expected);
  });

  test.each([
    ["*", true],
    ["api.example.com", true],
    ["example.com", true],
    [".example.com", true],
    ["*.example.com", true],
    ["other, API.Example.COM other", true],
    ["other.example; API.Example.COM;third.example", true],
    ["other.example;ample.com", false],
    ["api.example.com:443", true],
    ["api.example.com:8443", false],
    ["ample.com", false],
    ["api.example.com.", true],
    [".com.", true],
    [".", false],
    ["", false],
  ])("NO_PROXY=%s", (noProxy, round) => {
    const env = { HTTPS_PROXY: "http://p:1", NO_PROXY: noProxy };
    expect(proxyFor(API, env)?.href).toBe(round ? undefined : "http://p:1/");
  });

  test.each(["http://localhost:1", "http://127.5.0.1:1", "http://[::1]:1"])(
    "never for %s",
    (origin) => {
      expect(
        proxyFor(new URL(origin), { HTTP_PROXY: "http://p:1", HTTPS_PROXY: "http://p:1" }),
      ).toBeUndefined();
    },
  );

  test.each(["p:3128", "socks5://p:1", "http://", "://", "http://p:1/?x", "http://p:1#x"])(
    "a bad one is named, without its password: %s",
    (value) => {
      expect(() => proxyFor(API, { HTTPS_PROXY: value })).toThrow(
        /HTTPS_PROXY is no http or https URL/,
      );
      expect(() => proxyFor(API, { HTTPS_PROXY: "ftp://u:secret@p" })).toThrow(/^(?!.*secret)/);
    },
  );

  test.each([
    "puser:PROXYSECRET@127.0.0.1:1",
    "http://user:pa/SECRET@p:1",
    "http://user/SECRET@p:1",
    "https://u:S@ECRET/SECRET@p",
  ])("no part of a password is shown: %s", (value) => {
    let message = "";
    try {
      proxyFor(API, { https_proxy: value });
    } catch (error) {
      message = `${(error as Error).message} ${(error as { hint?: string }).hint}`;
    }
    expect(message).toContain("https_proxy is no http or https URL");
    expect(message).not.toMatch(/SECRET|puser|pa\//);
  });

  test.each([
    ["api.example.com", "with its scheme"],
    ["http://::1:8898", "brackets, as in http://[::1]:8787"],
    ["http://127.0.0.1:99999", "a port is a number up to 65535"],
  ])("a base URL that is none says why: %s", (value, hint) => {
    expect(() => parseBaseUrl(value)).toThrow(
      expect.objectContaining({ hint: expect.stringContaining(hint) }),
    );
  });

  test.each(["https://user:pa/SECRET@x", "https://user/SECRET@x", "user:SECRET@x"])(
    "nor in a base URL: %s",
    (value) => {
      expect(() => parseBaseUrl(value)).toThrow(/^(?!.*SECRET).*base URL/);
    },
  );
});

/** What becomes of a call by way of a proxy. @param connect what that does when it is asked */
async function throughProxy(
  connect: (request: IncomingMessage, socket: Duplex) => void,
  { user = "", timeouts }: { user?: string; timeouts?: { connect: number } } = {},
): Promise<unknown> {
  const proxy = createServer();
  proxy.on("connect", connect);
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const { port } = proxy.address() as AddressInfo;
  const client = createClient({
    baseUrl: "https://api.invalid",
    apiKey: "x_live_12345678",
    dialect: DEFAULT_DIALECT,
    now: Date.now,
    env: { HTTPS_PROXY: `http://${user}127.0.0.1:${port}` },
    ...(timeouts && { timeouts }),
  });
  return await client.account().finally(async () => {
    proxy.closeAllConnections();
    proxy.close();
    await client.close();
  });
}

test("a proxy that never answers is given up within the time for a connection: nothing was sent", async () => {
  await expect(throughProxy(() => undefined, { timeouts: { connect: 300 } })).rejects.toMatchObject(
    { code: "CONNECT_TIMEOUT", wasSent: false },
  );
});

test("a proxy that closes before it answers is asked once a try", async () => {
  let asked = 0;
  const call = throughProxy((_, socket) => {
    asked++;
    socket.destroy();
  });
  await expect(call).rejects.toMatchObject({ code: "PROXY_FAILED", wasSent: false });
  expect(asked).toBeLessThanOrEqual(10);
});

test.each([
  ["u:p%40ss", "u:p@ss"],
  ["token", "token:"],
  ["u:%zz", "u:%zz"],
  ["u:caf%E9", "u:caf\u00e9"],
  ["u:caf\u00e9", "u:caf\u00c3\u00a9"],
])("a proxy is told its user by the bytes that stand there: %s", async (user, told) => {
  let header: string | undefined;
  const call = throughProxy(
    (request, socket) => {
      header = request.headers["proxy-authorization"];
      socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
    },
    { user: `${user}@` },
  );
  await expect(call).rejects.toMatchObject({ code: "PROXY_REFUSED" });
  expect(header).toBe(`Basic ${Buffer.from(told, "latin1").toString("base64")}`);
});

test("a request goes through the proxy as a tunnel; NO_PROXY and this machine go round it", async () => {
  const asked: string[] = [];
  const proxy = createServer();
  proxy.on("connect", (request, socket) => {
    asked.push(request.url ?? "");
    socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n");
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const HTTPS_PROXY = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const service = await rawServer((_, response) => answerEnvelope(response, {}));
  const call = (baseUrl: string, env: Record<string, string>) => {
    const client = createClient({
      baseUrl,
      apiKey: "x_live_12345678",
      dialect: DEFAULT_DIALECT,
      now: Date.now,
      env,
    });
    return client.account().finally(() => client.close());
  };
  try {
    await expect(call("https://api.invalid", { HTTPS_PROXY })).rejects.toMatchObject({
      name: "LostReplyError",
      wasSent: false,
    });
    expect(asked).toEqual(["api.invalid:443"]);
    // What stands in the way is the proxy: the hint names its variable.
    const lost = await call("https://api.invalid", { HTTPS_PROXY }).catch(
      (error: unknown) => error,
    );
    const site = { connectionName: "work", baseUrl: "https://api.invalid" };
    expect(mapError(lost, site)).toMatchObject({
      code: "unreachable",
      hint: "see whether the proxy in HTTPS_PROXY is up; with NO_PROXY=api.invalid it is not asked",
    });
    asked.pop();
    await expect(
      call("https://api.invalid", { HTTPS_PROXY, NO_PROXY: ".invalid" }),
    ).rejects.toThrow();
    await call(service.url, { HTTPS_PROXY, HTTP_PROXY: HTTPS_PROXY });
    expect(asked).toHaveLength(1);
    expect(service.seen).toHaveLength(1);
  } finally {
    await service.close();
    proxy.closeAllConnections();
    proxy.close();
  }
});
