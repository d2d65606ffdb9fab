import { mkdirSync, readdirSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import {
  CALLS,
  type Effects,
  effectsOf,
  exitsOf,
  PLACES,
  variablesOf,
} from "../../src/cli/effects.ts";
import type { Command } from "../../src/cli/options.ts";
import { buildProgram } from "../../src/cli/program.ts";
import { pathOf } from "../../src/cli/reading.ts";
import { asTyped } from "../support/as-typed.ts";
import { testContext } from "../support/client.ts";
import type { RunOptions } from "../support/export.ts";
import { long } from "../support/long.ts";
import { onResponse } from "../support/service.ts";
import { type Serving, serveUsers } from "../support/serving.ts";

// What a man page says that a command reads, writes and asks, held against what it does.

const commands = async (): Promise<Command[]> => {
  const every = (command: Command): Command[] => [command, ...command.commands.flatMap(every)];
  const program = await buildProgram(testContext({}).context, [], "all");
  return every(program).filter((command) => command.name() !== "help");
};

test("every command that does something says what it touches, in words that there are", async () => {
  const acting = (await commands()).filter(
    (command) => command.commands.length === 0 || ["mcp", "sessions"].includes(command.name()),
  );
  expect(acting.filter((command) => effectsOf(command) === undefined).map(pathOf)).toEqual([]);

  const known = new Set([...Object.keys(CALLS), ...Object.keys(PLACES)]);
  const said = acting.flatMap((command) => {
    const { asks = "", reads = "", writes = "" } = effectsOf(command) ?? {};
    return `${asks} ${reads} ${writes}`.split(" ").filter((word) => word !== "");
  });
  expect(said.filter((word) => !known.has(word))).toEqual([]);
});

/** Where a file of a user belongs; a file that is nowhere else is one that was named. */
const PATHS: readonly (readonly [RegExp, string])[] = [
  [/^config\/segments\//, "segments"],
  [/^config\//, "connection"],
  [/^state\/(runs|library|suppression|register|jobs|pacing|sync)\b/, ""],
  [/^state\/machine$/, "runs"],
  [/^team\//, "sync"],
  [/^mine\//, "data"],
];
const placeOf = (path: string): string => {
  for (const [pattern, place] of PATHS) {
    const match = pattern.exec(path);
    if (match !== null) return place === "" ? (match[1] ?? "") : place;
  }
  return "a file";
};

/** Of every command, so that they are said once, in `help environment`. */
const OF_ALL =
  /^(HEADCOUNT_(JSON|NO_INPUT|DEBUG|FAILPOINT)|NO_COLOR|FORCE_COLOR|TERM|LC_\w+|LANG|HOME|PATH|CI|(HTTPS?|NO)_PROXY|DBUS_SESSION_BUS_ADDRESS|XDG_(RUNTIME_DIR|CONFIG_HOME|STATE_HOME|DATA_HOME))$/i;

/**
 * Beside a database while somebody has it open: what goes with the last of them was no work of a
 * command.
 */
const OF_SQLITE = /-(?:wal|shm)$/;

/**
 * What is said of a command and happens in none of the lines below: at vendors and services of other
 * kinds, at companies by domain, of what another machine did. A word too many is a line here.
 */
const SAID_ALONE = (
  [
    ["count asks", "account key"],
    ["count writes", "runs"],
    ["search asks", "facets"],
    ["employees asks", "enrich counts people search"],
    ["refresh asks", "key count search facets people"],
    ["refresh writes", "runs"],
    ["resume asks", "count facets people enrich employees counts"],
    ["jobs run asks", "key count search facets people enrich employees counts"],
    ["jobs run writes", "runs sync connection"],
    ["doctor writes", "runs"],
    ["sync writes", "segments runs suppression register"],
    ["forget writes", "jobs"],
  ] as const
).flatMap(([what, words]) => words.split(" ").map((word) => `${what} ${word}`));

const LONG_AGO = new Date(86_400_000);

interface Seen {
  readonly code: number;
  readonly stderr: string;
  readonly asks: ReadonlySet<string>;
  readonly reads: ReadonlySet<string>;
  readonly writes: ReadonlySet<string>;
  readonly variables: ReadonlySet<string>;
}

describe("a command touches what it says and nothing else", () => {
  let { service, u } = {} as Serving;
  serveUsers((now) => ({ service, u } = now));

  let said: ReadonlyMap<string, Effects>;
  beforeAll(async () => {
    const all = await commands();
    said = new Map(all.map((command) => [pathOf(command), effectsOf(command) ?? {}]));
  });

  type Given = Pick<RunOptions, "env" | "stdin">;

  const filesOf = (): string[] =>
    readdirSync(u.dir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
  const print = (file: string): string => {
    const { mtimeNs, size, ino } = statSync(file, { bigint: true });
    return `${mtimeNs} ${size} ${ino}`;
  };

  /** A file that was read since it was made as if nobody ever had has another time of access. */
  async function look(argv: readonly string[], given: Given = {}): Promise<Seen> {
    for (const file of filesOf()) utimesSync(file, LONG_AGO, statSync(file).mtime);
    const before = new Map(filesOf().map((file) => [file, print(file)]));
    const asks = new Set<string>();
    const variables = new Set<string>();
    const hear = ({ method, url }: { method: string; url: string }): void => {
      const call = `${method} ${new URL(url, service.url).pathname}`;
      asks.add(Object.keys(CALLS).find((name) => CALLS[name] === call) ?? call);
    };

    onResponse.push(hear);
    const { code, stderr } = await u.run(argv, {
      ...given,
      before: ({ context }) => {
        const watched = new Proxy(context.env, {
          get: (target, name) => {
            variables.add(String(name));
            return Reflect.get(target, name);
          },
        });
        Object.assign(context, { env: watched });
      },
    });
    onResponse.splice(onResponse.indexOf(hear), 1);

    const after = new Set(filesOf());
    const place = (file: string): string => placeOf(file.slice(u.dir.length + 1));
    const gone = [...before.keys()].filter((file) => !after.has(file) && !OF_SQLITE.test(file));
    const written = [...after].filter(
      (file) =>
        before.get(file) !== print(file) &&
        !file.endsWith("-shm") &&
        // What an earlier command wrote goes from the log into the file when it is closed.
        !before.has(`${file}-wal`),
    );
    const read = [...after].filter(
      (file) => before.has(file) && statSync(file).atime.getTime() > LONG_AGO.getTime(),
    );
    return {
      code,
      stderr,
      asks,
      reads: new Set(read.map(place)),
      writes: new Set([...gone, ...written].map(place)),
      variables,
    };
  }

  const of = (effects: Effects, what: "asks" | "reads" | "writes"): readonly string[] => {
    const words = effects[what]?.split(" ") ?? [];
    return words.some((word) => word === "given" || word === "output")
      ? [...words, "a file"]
      : words;
  };

  function beyond(path: string, seen: Seen): string[] {
    const effects = said.get(path) ?? {};
    // What a command writes it may look at before.
    const reads = [...of(effects, "reads"), ...of(effects, "writes")];
    const lists = [
      ["asks", seen.asks, of(effects, "asks")],
      ["reads", seen.reads, reads],
      ["writes", seen.writes, of(effects, "writes")],
      ["variable", seen.variables, variablesOf(effects)],
    ] as const;
    const more = lists.flatMap(([what, found, said]) =>
      [...found].filter((each) => !said.includes(each)).map((each) => `${path} ${what} ${each}`),
    );
    const isSaid = exitsOf(effects).includes(seen.code);
    return [...more, ...(isSaid ? [] : [`${path} ends with ${seen.code}: ${seen.stderr}`])].filter(
      (line) => !OF_ALL.test(line.split(" variable ")[1] ?? ""),
    );
  }

  long(
    "all of them but those that stay, on what they say",
    async () => {
      const { stdout } = await u.run(asTyped`search --all --limit 1 --yes --json`);
      const [{ company_network_url: company, id }] = JSON.parse(stdout);
      mkdirSync(u.file("team"));
      writeFileSync(u.file("crm.csv"), `Website,Note\n${company},one\n`);
      writeFileSync(
        u.file("jobs.jsonc"),
        JSON.stringify({
          jobs: {
            legal: {
              filters: { department: "Legal", country: "france" },
              max_credits: 60,
              output: "job.csv",
            },
          },
        }),
      );

      const keyless = { env: { HEADCOUNT_API_KEY: undefined }, stdin: service.key };
      const lines: readonly (readonly [string, string[], Given?])[] = [
        ["count", asTyped`count --department Legal`],
        ["count", asTyped`count --department Legal --by country --json`],
        ["account", asTyped`account`],
        ["filters", asTyped`filters country --prefix uni`],
        ["segment save", asTyped`segment save legal --department Legal`],
        ["segment list", asTyped`segment list`],
        ["segment show", asTyped`segment show legal`],
        ["search", asTyped`search -s legal --limit 5 --dry-run`],
        ["search", asTyped`search --department Legal --limit 5 --yes -o a.csv --receipt r.json`],
        ["search", asTyped`search --department Legal --new-only --max-credits 50 --yes -o b.csv`],
        ["search", asTyped`search --country Nobody --max-credits 5 --yes -o c.csv`],
        ["count", asTyped`count -s legal --owned`],
        ["segment remove", asTyped`segment remove legal`],
        ["enrich", asTyped`enrich crm.csv --column Website --keep-input --yes -o e.csv`],
        ["employees", asTyped`employees ${company} --per-company 2 --yes -o s.ndjson`],
        ["refresh", asTyped`refresh b.csv --max-credits 20 --yes`],
        ["mcp install", asTyped`mcp install claude`],
        ["runs list", asTyped`runs list`],
        ["runs show", asTyped`runs show last`],
        ["runs export", asTyped`runs export last -o x.csv`],
        ["search", asTyped`search --title-prefix chief --max-credits 3 --yes -o chiefs.csv`],
        ["resume", asTyped`resume ${"last"} --limit 9 --max-credits 9 --yes`],
        ["spend", asTyped`spend --by run`],
        ["owned status", asTyped`owned`],
        ["owned export", asTyped`owned export -o own.csv`],
        ["owned show", asTyped`owned show ${id}`],
        ["owned import", asTyped`owned import s.ndjson`],
        ["owned rebuild", asTyped`owned rebuild`],
        ["sql", ["sql", "select count(*) from people"]],
        ["suppress add", asTyped`suppress add p_0000000042`],
        ["suppress list", asTyped`suppress list`],
        ["suppress check", asTyped`suppress check p_0000000042`],
        ["suppress remove", asTyped`suppress remove p_0000000042`],
        ["suppress import", asTyped`suppress import s.ndjson`],
        ["data show", asTyped`data`],
        ["data set", asTyped`data set runs=90d`],
        ["jobs run", asTyped`jobs run legal --file jobs.jsonc`],
        ["jobs status", asTyped`jobs status --file jobs.jsonc`],
        ["jobs check", asTyped`jobs check --file jobs.jsonc`],
        ["doctor", asTyped`doctor`],
        ["sync", asTyped`sync ${u.file("team")} --insecure-storage`],
        ["sync", asTyped`sync ${u.file("team")} --status`],
        ["forget", asTyped`forget ${id} --yes`],
        ["runs remove", asTyped`runs remove last --yes`],
        ["runs prune", asTyped`runs prune 0d --yes`],
        ["connections list", asTyped`connections list`],
        ["connections dialects", asTyped`connections dialects`],
        ["login", asTyped`login work --insecure-storage --key-stdin`, keyless],
        ["connections use", asTyped`connections use work`],
        ["connections set", asTyped`connections set work paging=page`],
        ["connections show", asTyped`connections show work`],
        ["logout", asTyped`logout work`],
        ["connections remove", asTyped`connections remove work`],
        ["service generate", asTyped`service generate --people 300 --data mine`],
        ["service accounts create", asTyped`service accounts create acme --data mine`],
        ["service accounts list", asTyped`service accounts list --data mine`],
        ["service keys create", asTyped`service keys create --name one --data mine`],
        ["service keys list", asTyped`service keys list --data mine`],
        ["service credits add", asTyped`service credits add 10 --data mine`],
        ["service credits show", asTyped`service credits show --data mine`],
        ["service plan set", asTyped`service plan set per-minute=60 --data mine`],
        ["service plan show", asTyped`service plan show --data mine`],
        ["service entries", asTyped`service entries --data mine`],
        ["service usage", asTyped`service usage --data mine`],
        ["service audit", asTyped`service audit --data mine`],
        ["service dataset list", asTyped`service dataset list --data mine`],
        ["service suppress add", asTyped`service suppress add p_0000000042 --data mine`],
        ["service suppress list", asTyped`service suppress list --data mine`],
        ["service verify", asTyped`service verify --data mine`],
        ["service backup", asTyped`service backup copy --data mine`],
        ["schema", asTyped`schema count`],
        ["completion", asTyped`completion bash`],
      ];

      const wrong: string[] = [];
      const failed: string[] = [];
      const unused = new Map<string, Set<string>>();
      for (const [path, argv, given] of lines) {
        const seen = await look(argv, given);
        wrong.push(...beyond(path, seen));
        if (seen.code !== 0)
          failed.push(`${argv.join(" ")}: ${seen.code} ${seen.stderr.split("\n")[0]}`);
        for (const what of ["asks", "writes"] as const) {
          const left = unused.get(`${path} ${what}`) ?? new Set(said.get(path)?.[what]?.split(" "));
          for (const each of seen[what]) left.delete(each === "a file" ? "output" : each);
          unused.set(`${path} ${what}`, left);
        }
      }
      expect.soft(wrong).toEqual([]);
      // Of a connection without a file there is nothing to show.
      expect.soft(failed.map((line) => line.split(":")[0])).toEqual(["connections show work"]);
      const idle = [...unused].flatMap(([path, left]) =>
        // Whether the library has to take something in hangs on who came before.
        [...left].filter((each) => each !== "library").map((each) => `${path} ${each}`),
      );
      expect(idle.toSorted()).toEqual(SAID_ALONE.toSorted());
    },
    120_000,
  );
});
