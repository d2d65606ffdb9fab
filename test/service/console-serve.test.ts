import { request } from "node:http";
import { describe, expect, test } from "vitest";
import { asTyped } from "../support/as-typed.ts";
import { long } from "../support/long.ts";
import { folder, headcount, serving } from "../support/serve-command.ts";
import { generatedDataset } from "../support/service.ts";

interface Got {
  readonly status: number;
  readonly cookie: string;
  readonly text: string;
}

/** One request with a Host of its own, as a proxy in front passes it on. */
const ask = (
  url: string,
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: unknown,
) =>
  new Promise<Got>((resolve, reject) => {
    const call = request(new URL(path, url), { method, headers }, (response) => {
      let text = "";
      response.on("data", (piece) => {
        text += String(piece);
      });
      response.on("end", () =>
        resolve({
          status: response.statusCode ?? 0,
          cookie: String(response.headers["set-cookie"] ?? ""),
          text,
        }),
      );
    });
    call.on("error", reject);
    call.end(body === undefined ? undefined : JSON.stringify(body));
  });

const json = { "content-type": "application/json" };

describe("serve", () => {
  long(
    "--public-url https://: its name, a cookie for TLS alone, and links that lead there",
    async () => {
      const data = folder();
      const serve = ["serve", "--port", "0", "--json", "--console", "link", "--data", data];
      const options = ["--host", "127.0.0.1", "--public-url", "https://people.example"];
      const dataset = ["--dataset", await generatedDataset(300)];
      const ended = await serving([...serve, ...options, ...dataset], async (line) => {
        const { console: link, url } = JSON.parse(line) as { console: string; url: string };
        expect(link).toMatch(/^https:\/\/people\.example\/console\/enter#t=[\w-]{43}$/);
        const origin = { host: "people.example", origin: "https://people.example" };
        const token = new URL(link).hash.slice(3);
        const enter = (headers: Record<string, string>) =>
          ask(url, "POST", "/console/api/session", { ...json, ...headers }, { link: token });
        expect((await enter({ ...origin, host: "evil.example" })).status).toBe(421);
        expect((await enter({ ...origin, origin: "http://people.example" })).status).toBe(403);
        // What a client says about itself changes nothing.
        expect(
          (await enter({ host: "evil.example", "x-forwarded-host": "people.example" })).status,
        ).toBe(421);
        const entered = await enter(origin);
        expect(entered.status).toBe(200);
        expect(entered.cookie).toMatch(
          /^__Host-hc_console=[\w-]{43}; HttpOnly; SameSite=Strict; Secure; Path=\/; Max-Age=43200$/,
        );
        // Customers are told the address that was said, whatever a proxy puts into Host.
        for (const path of ["/docs", "/docs/collection.json", "/llms.txt"]) {
          const page = await ask(url, "GET", path, { host: "127.0.0.1:8787" });
          expect(page.text, path).toContain("https://people.example");
          expect(page.text, path).not.toContain("127.0.0.1");
        }
        const made = await headcount("service", "link", "--json", "--data", data);
        expect(JSON.parse(made.out)).toMatchObject({ role: "owner", account: "default" });
        expect(made.out).toContain('"https://people.example/console/enter#t=');
      });
      expect(ended.code, ended.err).toBe(0);
      // The link is nobody's but who was told: not on stderr, where logs go.
      expect(ended.err).not.toContain("#t=");
    },
  );

  test.each([
    ["--console off", ["--console", "off"], 404, ""],
    ["beyond loopback without TLS", ["--host", "0.0.0.0"], 404, "no console: without TLS"],
    [
      "a public name without TLS",
      ["--host", "0.0.0.0", "--public-url", "http://a.example"],
      404,
      "no console",
    ],
    ["--console insecure", ["--host", "0.0.0.0", "--console", "insecure"], 200, "in clear"],
  ])("%s", async (_, options, status, warning) => {
    const dataset = await generatedDataset(300);
    const serve = asTyped`serve --port 0 --json --data ${folder()} --dataset ${dataset} ${options}`;
    const ended = await serving(serve, async (line) => {
      const told = JSON.parse(line) as { url: string };
      // Stdout is no terminal: no link in it.
      expect(Object.keys(told)).toEqual(["url", "key"]);
      const { port } = new URL(told.url);
      const page = await ask(`http://127.0.0.1:${port}`, "GET", "/console/", {
        host: `127.0.0.1:${port}`,
      });
      expect(page.status).toBe(status);
    });
    expect(ended.code, ended.err).toBe(0);
    expect(ended.err).toContain(warning);
  });

  test.each([
    ["https://people.example/under/it", "scheme, host and port alone"],
    ["https://people.example?x", "scheme, host and port alone"],
    ["https://me:pw@people.example", "scheme, host and port alone"],
    ["people.example", "takes an address"],
  ])("--public-url %s is refused before anything is made", async (url, words) => {
    const refused = await headcount("serve", "--public-url", url, "--data", folder());
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining(words)]);
  });
});

describe("service link", () => {
  test("is an owner's of the account, or a viewer's, under a name that a link may have", async () => {
    const data = folder();
    expect((await headcount("service", "generate", "--people", "300", "--data", data)).code).toBe(
      0,
    );
    expect((await headcount("service", "accounts", "create", "acme", "--data", data)).code).toBe(0);
    let isNamed = false;
    const roleOf = async (...options: string[]): Promise<unknown> => {
      const { code, err, out } = await headcount(
        "service",
        "link",
        "--json",
        "--data",
        data,
        ...(isNamed ? ["--public-url", "https://people.example"] : []),
        ...options,
      );
      return code === 0 ? (JSON.parse(out) as { role: string }).role : err;
    };
    // Another service may answer where this one would: it was never served.
    expect(await roleOf()).toContain("no service was started on this folder yet");
    isNamed = true;
    expect(await roleOf()).toBe("owner");
    expect(await roleOf("--account", "acme")).toBe("owner");
    expect(await roleOf("--account", "default")).toBe("owner");
    expect(await roleOf("--account", "acme", "viewer")).toBe("viewer");
    expect(await roleOf("operator")).toContain("viewer");
    for (const name of ["Ada", "a b", "-x"])
      expect(await roleOf(`--name=${name}`)).toContain("as in ada-growth");
    expect(await roleOf("--account", "nobody")).toContain("there is no account");
  });
});
