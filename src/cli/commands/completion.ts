import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Writable } from "node:stream";
import { text } from "node:stream/consumers";
import type { Context } from "../../shared/context.ts";
import { usageError } from "../../shared/errors.ts";
import { textOfPackage } from "../../shared/paths.ts";
import { type Candidates, offerAt, type Word } from "../completion/offer.ts";
import type { CommandSpec } from "../completion/tree.ts";
import { Argument, type Command, Option } from "../options.ts";

const FILES = {
  bash: "headcount.bash",
  zsh: "_headcount",
  fish: "headcount.fish",
  powershell: "headcount.ps1",
} as const;
type Shell = keyof typeof FILES;

/** How many runs are offered, the newest first. */
const MAX_RUNS = 50;
const MAX_VALUES = 100;
/** A person waits for it. The scripts put a limit of their own around the whole process. */
const DEADLINE_MS = 1_500;

export function register(program: Command, context: Context): void {
  program
    .command("completion")
    .description(
      "Print the completion script of a shell: commands, flags, " +
        "departments, connections, runs, segments, files.",
    )
    .addArgument(new Argument("[shell]", "the shell").choices(Object.keys(FILES)))
    .addOption(new Option("--words", "what may stand at the cursor, for the scripts").hideHelp())
    .examples(`
  $ headcount completion bash >> ~/.bashrc
  $ headcount completion zsh > _headcount              put it into a folder of your $fpath
  $ headcount completion fish > headcount.fish         put it into ~/.config/fish/completions
  $ headcount completion powershell > headcount.ps1    and dot-source it in your $PROFILE`)
    .does("nothing", async (options: { readonly words?: boolean }, shell: Shell | undefined) => {
      if (options.words === true) await answer(context);
      else await printScript(shell, context);
    });
}

async function printScript(shell: Shell | undefined, context: Context) {
  if (shell === undefined) {
    throw usageError(
      `name the shell: ${Object.keys(FILES).join(", ")}`,
      "for example: headcount completion bash",
    );
  }

  context.stdout.write(textOfPackage(`completions/${FILES[shell]}`));
}

/**
 * Reads the words of a line from stdin, one a line, the one at the cursor last. Says what may stand
 * there: `files` or `directories`, which the shell knows, `list` where more follow a comma, else
 * `words`; behind a tab what of the word stays; then `value TAB description` a line.
 */
async function answer(context: Context) {
  const words = (await text(context.stdin)).split("\n").slice(0, -1);
  const tree = JSON.parse(textOfPackage("completions/tree.json")) as CommandSpec;
  const offer = offerAt(tree, words);

  // What cannot be read in time offers nothing: a tab key is no place for an error.
  const late = context.sleep(DEADLINE_MS).then((): readonly Word[] => []);
  const values = await Promise.race([
    valuesOf(offer, context).catch((): readonly Word[] => []),
    late,
  ]);

  const { kind } = offer.values;
  const type =
    kind === "file"
      ? "files"
      : kind === "directory"
        ? "directories"
        : kind === "commas"
          ? "list"
          : "words";

  const fitting = values.filter(([value]) =>
    value.toLowerCase().startsWith(offer.typed.toLowerCase()),
  );
  const lines = fitting.map(
    ([value, about]) => `${value}\t${about.replace(/[\u0000-\u001f\u007f-\u009f]/g, " ")}\n`,
  );
  context.stdout.write(`${type}\t${offer.head}\n${lines.join("")}`);
}

async function valuesOf({ file, typed, values }: Candidates, context: Context) {
  switch (values.kind) {
    case "words":
      return values.words;
    case "list":
    case "commas":
      return values.values.map((value) => [value, ""]);
    case "connections":
      return connections(context);
    case "runs":
      return runs(context);
    case "segments":
      return segments(context);
    case "jobs":
      return jobs(file, context);
    case "listed":
      return peopleValues(values.values[0], typed, context);
    default:
      return [];
  }
}

async function peopleValues(key: string, prefix: string, context: Context) {
  const { readConfig, findConnection } = await import("../../engine/connections/config.ts");
  const { findFolder } = await import("../../engine/connections/paths.ts");
  const { withSession } = await import("../session.ts");
  const { valuesIn, ownedValues } = await import("../../app/count/values.ts");
  const { filterSpec } = await import("../../shared/contract/vocabulary.ts");
  const spec = filterSpec(key);
  if (spec === undefined) return [];

  const wanted = { spec, filters: {}, limit: MAX_VALUES, ...(prefix === "" ? {} : { prefix }) };
  const config = readConfig(findFolder("config", context));
  const connection = context.env.HEADCOUNT_CONNECTION ?? config.default;
  const isLocked =
    !context.env.HEADCOUNT_API_KEY &&
    findConnection(config, connection ?? "")?.keyStore === "keychain";
  const silent = {
    ...context,
    stderr: new Writable({ write: (_chunk, _encoding, done) => done() }),
  };

  const owned = async () => {
    const { serviceId, mode } = (await import("./owned/shelf.ts")).shelfOf({ maxWait: 0 }, context);
    return ownedValues({ serviceId, keyMode: mode }, context, wanted);
  };

  const ask = () =>
    withSession(silent, { maxWait: 0, quiet: true }, (session) =>
      valuesIn(session, silent, wanted),
    );

  const facet = isLocked ? await owned() : await ask().catch(owned);
  return (facet?.values ?? []).map(({ value, count }) => [value, `${count}`]);
}

async function connections(context: Context) {
  const { readConfig, SAMPLE } = await import("../../engine/connections/config.ts");
  const { findFolder } = await import("../../engine/connections/paths.ts");
  const { connections } = readConfig(findFolder("config", context));
  const own = Object.entries(connections).map(([name, { baseUrl }]) => [name, baseUrl] as const);
  return [[SAMPLE, "built in, synthetic people"], ...own];
}

async function segments(context: Context) {
  const { savedSegments } = await import("../../app/segments/segment-store.ts");
  const { spokenFilters } = await import("../../engine/runs/plan.ts");
  const lines = (await savedSegments(context)).map(async ({ name, file }) => {
    const text = await readFile(file, "utf8").then((read) =>
      spokenFilters(JSON.parse(read) as never),
    );
    return [[name, text.slice(0, 80)] as const];
  });
  return (await Promise.all(lines.map((each) => each.catch(() => [])))).flat();
}

async function jobs(file: string, context: Context) {
  const { readJobs } = await import("../../app/jobs/file.ts");
  const jobsFile = await readJobs(context, file === "" ? undefined : file);
  return jobsFile.jobs.map(({ name, schedule, output }) => [
    name,
    [schedule, output].filter(Boolean).join(", "),
  ]);
}

async function runs(context: Context) {
  const { findFolder } = await import("../../engine/connections/paths.ts");
  const folder = join(findFolder("state", context) ?? "", "runs");
  const ids = (await readdir(folder)).filter((name) => /^\d{8}-\d{6}-[0-9a-f]+$/.test(name));
  const newest = ids.sort().reverse().slice(0, MAX_RUNS);
  const lines = await Promise.all(
    newest.map(async (id) => [id, await runText(join(folder, id, "plan.json"))] as const),
  );
  return lines.length === 0 ? [] : [["last", "the newest run"], ...lines];
}

async function runText(file: string): Promise<string> {
  try {
    const { targetText } = await import("../../engine/runs/plan.ts");
    return targetText(
      (JSON.parse(await readFile(file, "utf8")) as { readonly target: never }).target,
    ).slice(0, 80);
  } catch {
    return "";
  }
}
