import { execFile, spawn } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { asTyped } from "../support/as-typed.ts";
import { freePort } from "../support/free-port.ts";
import { startTestService, type TestService } from "../support/service.ts";

// Clients that others' tools make from the published document: what they make compiles, and walks the whole flow.

const ROOT = resolve(import.meta.dirname, "../..");
const MODULES = join(ROOT, "node_modules");
const run = promisify(execFile);

const GENERATORS = {
  "openapi-fetch": ["openapi-typescript/bin/cli.js", "DOCUMENT", "-o", "openapi-typescript.d.ts"],
  "hey-api": asTyped`@hey-api/openapi-ts/dist/run.mjs -i DOCUMENT -o hey-api -c @hey-api/client-fetch`,
  zodios: ["openapi-zod-client/bin.js", "DOCUMENT", "-o", "zodios.ts", "--strict-objects"],
} as const;
type Family = keyof typeof GENERATORS;
const FAMILIES = Object.keys(GENERATORS) as Family[];

const TSCONFIG = {
  compilerOptions: {
    strict: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
    target: "es2022",
    module: "esnext",
    moduleResolution: "bundler",
    allowImportingTsExtensions: true,
    skipLibCheck: true,
    types: ["node"],
  },
  include: ["*.ts", "generated/**/*.ts"],
};

let work = "";
let service: TestService;

beforeAll(async () => {
  work = mkdtempSync(join(tmpdir(), "headcount-clients-"));
  symlinkSync(MODULES, join(work, "node_modules"));
  cpSync(join(import.meta.dirname, "clients"), work, { recursive: true });
  writeFileSync(join(work, "tsconfig.json"), JSON.stringify(TSCONFIG));
  writeFileSync(join(work, "package.json"), '{"type":"module"}');
  service = await startTestService({ people: 2_000 });
  writeFileSync(
    join(work, "openapi.json"),
    await (await fetch(`${service.url}/openapi.json`)).text(),
  );
  const generated = join(work, "generated");
  cpSync(join(work, "package.json"), join(generated, "package.json"));
  const compiler = join(ROOT, "test/foreign/compiler-api.mjs");
  for (const [program, ...args] of Object.values(GENERATORS)) {
    const given = args.map((argument) => (argument === "DOCUMENT" ? "../openapi.json" : argument));
    await run(process.execPath, ["--import", compiler, join(MODULES, program), ...given], {
      cwd: generated,
    });
  }
});
afterAll(async () => {
  await service.close();
  rmSync(work, { recursive: true, force: true });
});

test("all of them compile under strict", async () => {
  const outcome = await run(process.execPath, [join(MODULES, "typescript/bin/tsc"), "-p", work], {
    cwd: work,
  }).catch((error: { stdout: string }) => error);
  expect(outcome.stdout).toBe("");
});

/** Runs a family's flow against an address, as one file. */
async function walk(family: Family, base: string): Promise<Record<string, unknown>> {
  const file = join(work, `${family}.mjs`);
  const bundle = await rolldown({
    input: join(work, `${family}.ts`),
    platform: "node",
    logLevel: "silent",
  });
  await bundle.write({ file, format: "esm", codeSplitting: false });
  await bundle.close();
  const { stdout } = await run(process.execPath, [file], {
    env: { ...process.env, BASE: base, KEY: service.key },
  });
  return JSON.parse(stdout) as Record<string, unknown>;
}

test.each(FAMILIES)(
  "%s counts, searches by page and by cursor, looks up, misses, is refused, lists",
  async (family) => {
    const body = {
      filters: { department: ["Sales", "Marketing"], country: "canada", connections_min: 1 },
      per_page: 4,
    };
    const ids = (await service.call("/v1/person/search", { body })).json.result.map(
      ({ id }: { id: string }) => id,
    );
    const before = (await service.call("/v1/account")).json.credits_remaining;
    const count = await service.call("/v1/person/count", {
      body: { filters: { department: "Sales" } },
    });
    const did = await walk(family, service.url);
    expect(did).toEqual({
      remaining: before,
      count: count.json.result.count,
      first: ids.slice(0, 2),
      second: ids.slice(2),
      byCursor: ids.slice(2),
      company: "acme.example",
      miss: [404, ["no company matches domain nobody.example"]],
      invalid: [422, expect.stringMatching(/^unknown department: "Saless"/)],
      employees: ["acme.example", "acme.example", "acme.example"],
    });
    expect((await service.call("/v1/account")).json.credits_remaining).toBe(
      before - 2 - 2 - 2 - 1 - 3,
    );
  },
);

describe("through a validating proxy", () => {
  let url = "";
  let stop = (): void => undefined;

  beforeAll(async () => {
    const port = await freePort();
    const document = join(work, "openapi.json");
    const proxy = [
      join(MODULES, "@stoplight/prism-cli/dist/index.js"),
      "proxy",
      document,
      service.url,
      "-p",
      `${port}`,
    ];
    const child = spawn(process.execPath, proxy, { stdio: ["ignore", "pipe", "pipe"] });
    stop = () => child.kill();
    await new Promise<void>((ready, fail) => {
      let said = "";
      const read = (chunk: Buffer): void => {
        said += chunk.toString();
        if (said.includes("is listening on")) ready();
      };
      child.stdout.on("data", read);
      child.stderr.on("data", read);
      child.on("exit", () => fail(new Error(said)));
    });
    url = `http://127.0.0.1:${port}`;
  });
  afterAll(() => stop());

  const post = (body: unknown) => ({
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const bearer = { authorization: "" };

  test("no answer of the service is other than published, and no good request either", async () => {
    bearer.authorization = `Bearer ${service.key}`;
    const ask = async (
      path: string,
      init: RequestInit = {},
      headers: Record<string, string> = bearer,
    ) => {
      const given = { ...(init.headers as Record<string, string> | undefined), ...headers };
      const response = await fetch(url + path, { ...init, headers: given });
      const text = response.headers.get("sl-violations");
      const found =
        text === null ? [] : (JSON.parse(text) as { location: string[]; message: string }[]);
      return { status: response.status, headers: response.headers, found };
    };
    const search = "/v1/person/search";
    const first = await ask(
      search,
      post({ filters: { country: ["canada", "france"] }, per_page: 2 }),
    );
    const cursor = first.headers.get("x-next-cursor");
    const key = { ...bearer, "idempotency-key": "prism-1", "x-request-id": "prism.1" };
    const good = [
      first,
      await ask("/v1/account"),
      await ask("/v1/person/count", post({ filters: {} })),
      await ask(search, post({ filters: { country: ["canada", "france"] }, per_page: 2, cursor })),
      await ask(search, post({ filters: { department: "Sales" }, page: 2 }), key),
      await ask(search, post({ filters: { department: "Sales" }, page: 2 }), key),
      await ask("/v1/company/enrich?domain=acme.example"),
      await ask("/v1/company/employees?domain=acme.example&per_page=3"),
    ];
    expect(good.map(({ status }) => status)).toEqual(good.map(() => 200));
    const refusals = [
      [await ask("/v1/company/enrich?domain=nobody.example"), 404],
      [
        await ask(search, post({ filters: {}, per_page: 2 }), {
          ...bearer,
          authorization: "Bearer hc_live_wrong",
        }),
        401,
      ],
      [await ask(search, post({ filters: { department: "Sales" }, page: 3 }), key), 422],
    ] as const;
    for (const [{ status }, wanted] of refusals) expect(status).toBe(wanted);
    for (const { found } of [...good, ...refusals.map(([answer]) => answer)])
      expect(found).toEqual([]);
    // What is no good request is seen by the proxy, and the service's answer to it is as published all the same.
    for (const body of [
      { filters: { departement: "Sales" } },
      { filters: {}, per_page: 5_000 },
      {},
    ]) {
      const { found, status } = await ask(search, post(body));
      expect(status).toBe(422);
      expect(found.map(({ location }) => location[0])).toContain("request");
      expect(found.filter(({ location }) => location[0] !== "request")).toEqual([]);
    }
  });
});

describe("the linter", () => {
  const ROOT = resolve(import.meta.dirname, "../..");
  const run = promisify(execFile);

  test("the document passes the linter without a warning", async () => {
    const linter = join(ROOT, "node_modules/@redocly/cli/bin/cli.js");
    const args = asTyped`${linter} lint docs/openapi.json --extends recommended --format json`;
    const env = {
      ...process.env,
      REDOCLY_TELEMETRY: "off",
      REDOCLY_SUPPRESS_UPDATE_NOTICE: "true",
    };
    const { stdout } = await run(process.execPath, args, { cwd: ROOT, env }).catch(
      (error: { stdout: string }) => error,
    );
    const { problems, totals } = JSON.parse(stdout.slice(stdout.indexOf("{"))) as {
      problems: unknown[];
      totals: object;
    };
    expect(problems).toEqual([]);
    expect(totals).toMatchObject({ errors: 0, warnings: 0 });
  });
});
