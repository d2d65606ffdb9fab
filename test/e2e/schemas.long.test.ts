import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import type { Command } from "commander";
import { beforeAll, describe, expect, test } from "vitest";
import { main } from "../../src/cli/main.ts";
import { buildProgram } from "../../src/cli/program.ts";
import { pathOf } from "../../src/cli/reading.ts";
import { DESCRIBED, describedPath, schemaOf } from "../../src/cli/schemas/all.ts";
import type { JsonSchema } from "../../src/shared/schema/build.ts";
import { asTyped } from "../support/as-typed.ts";
import { type TestContextOptions, testContext } from "../support/client.ts";
import { ConsoleClient } from "../support/console.ts";
import { type Ran, type User, user } from "../support/export.ts";
import { serving } from "../support/serve-command.ts";
import type { TestService } from "../support/service.ts";
import { testService } from "../support/serving.ts";

/** Commands that print no JSON document, each with what they print. */
const NO_JSON: Readonly<Record<string, string>> = {
  completion: "a script of a shell",
  "connections show": "the file of a vendor as it stands",
  mcp: "the protocol, or with --port one line of an address and its token",
  "mcp install": "the entry of another program's config",
};

const ajv = new Ajv2020({ allErrors: true, allowUnionTypes: true });
formats.default(ajv);
/** What a document may be, by the titles of the schema's variants. */
const variants = new Map<string, Map<string, ReturnType<typeof ajv.compile>>>();
for (const [path, document] of DESCRIBED) {
  const { anyOf } = document as JsonSchema;
  const parts = (anyOf ?? [document]) as readonly JsonSchema[];
  variants.set(
    path,
    new Map(parts.map((part, index) => [String(part.title ?? index), ajv.compile(part)])),
  );
}
const errors = ajv.compile(schemaOf("errors") ?? false);
const seen = new Map<string, Set<string>>();

const service = testService({ people: 2_000, credits: 100_000 });
let u: User;
beforeAll(async () => {
  u = user(service.url, service.key);
});

/** Holds what a command printed against its schema, and notes which of the variants it is. */
function hold(path: string, printed: string): unknown {
  const value: unknown = JSON.parse(printed);
  const found = [...(variants.get(path) ?? [])].map(([title, fits]) => ({
    title,
    fits: fits(value),
    why: fits.errors,
  }));
  const fitting = found.filter(({ fits }) => fits).map(({ title }) => title);
  if (fitting.length === 0) {
    const why = found
      .map(({ title, why: errors }) => `${title}: ${ajv.errorsText(errors)}`)
      .join("\n");
    expect.fail(`headcount ${path} printed ${printed.slice(0, 600)}\n${why}`);
  }
  seen.set(path, new Set([...(seen.get(path) ?? []), ...fitting]));
  return value;
}

/** Runs a command in this process, in the user's folder; by default in its environment. */
async function runs(argv: readonly string[], options: TestContextOptions = {}): Promise<Ran> {
  const tested = testContext({ cwd: u.dir, env: u.env, ...options, argv });
  const code = await main(argv, tested.context);
  return { code, stdout: tested.stdout(), stderr: tested.stderr() };
}

/** Runs a command with --json. */
async function run(path: string, ...more: readonly string[]) {
  const { code, stderr, stdout } = await runs([...path.split(" "), ...more, "--json"]);
  expect(`${code} ${code === 0 ? "" : stderr}`, `${path} ${more.join(" ")}`).toBe("0 ");
  return hold(path, stdout) as never;
}

const LEGAL = ["--department", "Legal"];

describe("what a command prints with --json fits its schema", () => {
  test("looking", async () => {
    await run("count", ...LEGAL);
    await run("count", "--by", "department", "--top", "3");
    writeFileSync(u.file("a.json"), '{"department":"Legal"}');
    writeFileSync(u.file("b.json"), '{"department":"Sales"}');
    await run("count", "-f", "a.json", "-f", "b.json");
    await run("count", "-f", "a.json", "-f", "b.json", "--union", "--except", "a.json");
    await run("account");
    await run("doctor");
    await run("filters");
    await run("filters", "department");
    await run("filters", "country", "--top", "3");
    await run("schema", "filter-file");
    await run("segment save", "legal", ...LEGAL);
    await run("segment list");
    await run("segment show", "legal");
    await run("segment remove", "legal");
    await run("schema");
    await run("schema", "runs", "list");
  });

  test("connections", async () => {
    const { HEADCOUNT_API_KEY: _, HEADCOUNT_BASE_URL: __, ...env } = u.env;
    const { stdout } = await runs(
      asTyped`login work --key-stdin --insecure-storage --base-url ${service.url} --json`,
      { env, stdin: service.key },
    );
    hold("login", stdout);
    await run("connections list");
    await run("connections set", "work", "paging=offset", "per-page-max=50");
    await run("connections use", "work");
    hold("logout", (await runs(["logout", "work", "--json"], { env })).stdout);
    await run("connections remove", "work");
    await run("connections dialects");
    // With a key in the environment nobody is asked for one, and no call is made.
    await run("connections add", "vendor", "--dialect", "pdl");
    await run("connections remove", "vendor");
  });

  test("buying", async () => {
    await run("search", ...LEGAL, "--dry-run");
    await run("search", ...LEGAL, "--limit", "3", "--yes");
    const { run: id } = (await run("search", ...LEGAL, "--limit", "5", "--yes", "-o", "x.csv")) as {
      run: string;
    };
    await run("resume", id, "--limit", "6", "--dry-run");
    await run("resume", id, "--limit", "6", "--yes", "--overwrite");
    await run("resume", id, "--limit", "7", "--yes", "--overwrite");
    const [{ id: piped } = { id: "" }] = (
      (await run("runs list")) as { id: string; output: string | null }[]
    ).filter(({ output }) => output === null);
    await run("resume", piped, "--limit", "8", "--yes");
    await run("resume", piped, "--limit", "9", "--yes");
    await run("search", ...LEGAL, "--sample", "4", "--yes", "-o", "sample.csv");
    await run("search", ...LEGAL, "--new-only", "--max-credits", "2", "-o", "new.csv");
    await run("owned export", ...LEGAL, "-o", "owned.csv");
    await run("search", "-f", "a.json", "-f", "b.json", "--limit", "2", "--yes", "-o", "union.csv");
    const [one] = (await run("search", "--all", "--limit", "1", "--yes")) as {
      company_network_url: string;
    }[];
    const slug = one?.company_network_url ?? "";
    await run("enrich", slug, "--yes");
    await run("enrich", slug, "no-such-company", "--yes");
    await run("enrich", slug, "--yes", "-o", "c.csv");
    await run("enrich", slug, "--dry-run");
    writeFileSync(u.file("crm.csv"), `name,domain\nx,${slug}\n`);
    await run("enrich", "crm.csv", "--keep-input", "--column", "domain", "--yes");
    await run("employees", slug, "--limit", "1", "--yes");
    await run("employees", slug, "--limit", "1", "--yes", "-o", "e.csv");
    await run("employees", slug, "--dry-run");
    await run("search", "--department", "Trades", "--yes", "-o", "list.csv");
    await run("refresh", "list.csv", "--dry-run");
    await run("refresh", "list.csv", "--yes");
  });

  test("keeping", async () => {
    await run("runs list");
    await run("runs show", "last");
    await run("runs export", "last");
    await run("runs export", "last", "-o", "again.csv");
    for (const by of ["day", "run", "connection", "job", "machine"]) await run("spend", "--by", by);
    mkdirSync(u.file("team"));
    await run("sync", "team", "--insecure-storage");
    await run("sync", "team", "--status");
    await run("owned status");
    await run("owned export", ...LEGAL);
    await run("owned export", ...LEGAL, "-o", "mine.csv");
    await run("owned import", "x.csv");
    await run("owned rebuild");
    await run("count", "--owned", ...LEGAL);
    await run("count", "--owned", "-f", "a.json", "-f", "b.json");
    await run("sql", "select id, name, credits, network_url from people");
    const [person] = (await run("sql", "select id, name from people limit 1")) as {
      id: string;
      name: string;
    }[];
    await run("owned show", person?.id ?? "");
    await run("suppress add", "network.example/in/ada", "--note", "asked");
    writeFileSync(u.file("people.txt"), "network.example/in/bob\n");
    await run("suppress import", "people.txt");
    await run("suppress check", "network.example/in/ada");
    await run("suppress list");
    await run("suppress remove", "network.example/in/ada");
    writeFileSync(u.file("two.json"), '[{"id":"a","name":"Twin"},{"id":"b","name":"Twin"}]');
    await run("owned import", "two.json", "--dry-run");
    await run("owned import", "two.json");
    await run("owned show", "Twin");
    await run("forget", "a", "--yes");
    await run("forget", person?.id ?? "", "--dry-run");
    await run("data show");
    await run("data set", "runs=90d");
    await run("runs prune", "1h", "--dry-run");
    await run("runs prune", "52w", "--yes");
    await run("runs remove", "last", "--dry-run");
    await run("runs remove", "last", "--yes", "--force");
  });

  test("jobs", async () => {
    const job = {
      schedule: "@daily",
      filters: { department: "Legal" },
      max_credits: 100,
      output: "job.csv",
    };
    writeFileSync(
      u.file("jobs.jsonc"),
      JSON.stringify({ log: "log.ndjson", jobs: { legal: job } }),
    );
    const file = ["--file", "jobs.jsonc"];
    await run("jobs run", ...file, "--dry-run");
    await run("jobs run", "legal", ...file);
    const lines = ajv.compile(DESCRIBED.get("jobs run") ?? false);
    expect(lines([JSON.parse(u.read("log.ndjson"))]), ajv.errorsText(lines.errors)).toBe(true);
    await run("jobs status", ...file);
    await run("jobs check", "--file", "jobs.jsonc");
    await run("schema", "jobs-file");
  });

  test("serving", async () => {
    const data = ["--data", u.file("data")];
    const of = async (path: string, ...more: readonly string[]) =>
      run(`service ${path}`, ...more, ...data);
    await of("generate", "--people", "300", "--seed", "1");
    await of("accounts create", "acme");
    await of("credits add", "50", "--account", "acme");
    const { id } = (await of(
      "keys create",
      "--account",
      "acme",
      "--max-credits",
      "5",
      "--expires",
      "7d",
    )) as {
      id: string;
    };
    await of("keys rotate", id, "--account", "acme");
    await of("keys set", id, "--account", "acme", "--max-credits", "6");
    await of("keys list", "--account", "acme");
    await of("keys revoke", id, "--account", "acme");
    await of("accounts suspend", "acme");
    await of("accounts resume", "acme");
    await of("accounts list");
    await of("credits add", "100", "--reference", "one");
    await of("credits remove", "1");
    await of("credits show");
    await of("plan show");
    await of("plan set", "per-minute=1000", "person_search=0.25", "small-counts=5");
    await of("link", "--public-url", "https://people.example");
    await of("suppress add", "network.example/in/ada");
    writeFileSync(u.file("people.txt"), "network.example/in/bob\n");
    await of("suppress import", u.file("people.txt"));
    await of("suppress check", "network.example/in/ada");
    await of("suppress list");
    await of("suppress remove", "network.example/in/bob");
    const person = await served(data);
    await of("usage", "--by", "day,key,call");
    const entries = (await of("entries")) as { id: number; kind: string }[];
    const charge = entries.find(({ kind }) => kind === "charge");
    await of("credits refund", String(charge?.id), "1");
    await of("audit");
    await of("verify");
    await of("backup", u.file("backup"));
    await run("service restore", u.file("backup"), "--data", u.file("restored"));
    writeFileSync(
      u.file("in.csv"),
      "id,name,network_url,department\n1,Ada,network.example/in/ada2,Lawyers\n2,,,\n1,Twin,,\n",
    );
    await of("import", "--people", u.file("in.csv"), "--max-refused", "100%");
    const [{ version: now }] = (await of("dataset list")) as [{ version: string }];
    expect(now).not.toBe("");
    await of("dataset rollback");
    await of("forget", person?.id ?? "", "--dry-run");
    await of("forget", person?.id ?? "", "--yes");
  });

  /** `serve`, something bought of it, and somebody signed in to its console and out again. */
  async function served(data: readonly string[]): Promise<{ id: string } | undefined> {
    let bought: { id: string } | undefined;
    const argv = ["serve", "--port", "0", "--json", "--console", "link", ...data];
    const { code } = await serving(argv, async (line) => {
      const { console: link, url } = hold("serve", line) as { console: string; url: string };
      const { key } = (await run("service keys create", ...data)) as { key: string };
      const other = user(url, key);
      const { stderr, stdout } = await other.run(asTyped`search --all --limit 8 --yes --quiet`);
      expect(stdout.split("\n"), stderr).toHaveLength(9);
      await new ConsoleClient({ url } as TestService, Date.now).signIn({
        link: link.split("#t=")[1],
      });
      const [session] = (await run("service sessions", ...data)) as { id: string }[];
      await run("service sessions end", session?.id ?? "", ...data);
      bought = JSON.parse(stdout.split("\n")[0] ?? "");
    });
    expect(code).toBe(0);
    return bought;
  }

  test("errors", async () => {
    for (const argv of [
      ["count", "--department", "Slaes", "--json"],
      ["conut", "--json"],
      ["runs", "show", "no", "--json"],
    ]) {
      const { code, stderr, stdout } = await runs(argv);
      expect(stdout).toBe("");
      const error = JSON.parse(stderr) as { error: { exit_code: number } };
      expect(errors(error), ajv.errorsText(errors.errors)).toBe(true);
      expect(error.error.exit_code).toBe(code);
    }
    const env = { ...u.env, HEADCOUNT_JSON: "1" };
    const { stderr } = await runs(["count", "--department", "Slaes"], { env });
    expect(errors(JSON.parse(stderr))).toBe(true);
  });

  test("lines of NDJSON", async () => {
    for (const argv of [
      ["search", ...LEGAL, "--limit", "3", "--yes", "--again"],
      ["owned", "export", ...LEGAL],
    ]) {
      const { stdout } = await runs([...argv, "--format", "ndjson"]);
      const path = argv
        .filter((word) => !word.startsWith("-"))
        .slice(0, argv[0] === "owned" ? 2 : 1)
        .join(" ");
      const fits = ajv.compile(DESCRIBED.get(path) ?? false);
      const lines = stdout.trim().split("\n");
      expect(lines.length).toBeGreaterThan(1);
      for (const line of lines)
        expect(fits([JSON.parse(line)]), ajv.errorsText(fits.errors)).toBe(true);
    }
  });

  test("every variant of every schema was printed by something", () => {
    const missing = [...variants].flatMap(([path, parts]) =>
      [...parts.keys()]
        // By ids of a vendor the same is bought: test/cli/vendors-by-ids.test.ts.
        .filter((title) => !seen.get(path === "read" ? "search" : path)?.has(title))
        .map((title) => `${path}: ${title}`),
    );
    expect(missing).toEqual([]);
  });
});

describe("schemas", () => {
  test("every command has one, or prints no JSON", async () => {
    const { context } = testContext({});
    const leaves = (command: Command): Command[] =>
      command.commands.length === 0
        ? [command]
        : command.commands.flatMap((child) => leaves(child));
    const paths = leaves(await buildProgram(context, [], "all")).map(pathOf);
    expect(paths.filter((path) => !DESCRIBED.has(path) && NO_JSON[path] === undefined)).toEqual([]);
    const described = [...DESCRIBED.keys(), ...Object.keys(NO_JSON)];
    // Groups that do something by themselves.
    expect(
      described.filter((path) => ![...paths, "mcp", "service sessions"].includes(path)),
    ).toEqual([]);
  });

  test("each is one of its draft, and leaves no room for keys that nobody told of", () => {
    const strict = new Ajv2020({ strict: true, allowUnionTypes: true });
    formats.default(strict);
    for (const path of [...DESCRIBED.keys(), "errors"]) {
      const schema = schemaOf(path);
      if (schema === undefined) throw new Error(`nothing describes ${path}`);
      expect(() => strict.compile(schema), path).not.toThrow();
    }
  });

  test("the documents that docs/reference/json.md and its neighbours show fit, cut short as some are", () => {
    const pages = ["json", "json-runs", "exit-codes"].map((name) =>
      resolve(import.meta.dirname, `../../docs/reference/${name}.md`),
    );
    const page = pages.map((each) => readFileSync(each, "utf8")).join("\n## \n");
    const sections = [...page.matchAll(/^### ([^\n]+)\n([\s\S]*?)(?=^##)/gm)];
    const blocks = sections.flatMap(([, heading = "", text = ""]) => {
      const paths = heading.split(/, | --/).flatMap((words) => describedPath(words) ?? []);
      const shown = [...text.matchAll(/```json\n([\s\S]*?)```/g)].map(
        ([, json = ""]) => JSON.parse(json) as object,
      );
      return paths.length === 0 ? [] : shown.map((value) => ({ paths, value }));
    });
    expect(blocks.length).toBeGreaterThan(12);
    const listed = blocks.find(({ paths }) => paths.includes("runs list"))
      ?.value as readonly object[];
    for (const { paths, value: shown } of blocks) {
      const value = paths.includes("runs show") ? { ...listed[0], ...shown } : shown;
      const parts = paths.flatMap((path) =>
        path === "errors" ? [errors] : [...(variants.get(path)?.values() ?? [])],
      );
      expect(
        parts.some((part) => part(value)),
        `${paths}: ${JSON.stringify(value)}`,
      ).toBe(true);
    }
  });
});
