import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { Writable } from "node:stream";
import type { Context } from "../../shared/context.ts";
import { FACET_KEYS, type FacetKey, isFacetKey } from "../../shared/contract/facets.ts";
import { CliError, EXIT, usageError } from "../../shared/errors.ts";
import { packageRoot } from "../../shared/paths.ts";
import { Argument, type Command, Option } from "../options.ts";

const FILES = {
  bash: "headcount.bash",
  zsh: "_headcount",
  fish: "headcount.fish",
  powershell: "headcount.ps1",
} as const;
type Shell = keyof typeof FILES;

const LISTS = ["connections", "runs", "segments", "jobs"] as const;
type List = (typeof LISTS)[number] | FacetKey;

/** How many runs are offered, the newest first. */
const MAX_RUNS = 50;
const MAX_VALUES = 100;
/** A person waits for it. The scripts put a limit of their own around the whole process. */
const DEADLINE_MS = 1_500;

export function register(program: Command, context: Context): void {
  program
    .command("completion")
    .description(
      "Print the completion script of a shell: commands, flags, departments, connections, runs, segments, files.",
    )
    .addArgument(new Argument("[shell]", "the shell").choices(Object.keys(FILES)))
    .addOption(
      new Option("--list <what>", "names for the scripts, one a line").choices([...LISTS, ...FACET_KEYS]).hideHelp(),
    )
    .addOption(
      new Option(
        "--prefix <text>",
        "with --list of a key: values that begin with this; of jobs: their file",
      ).hideHelp(),
    )
    .examples(`
  $ headcount completion bash >> ~/.bashrc
  $ headcount completion zsh > _headcount              put it into a folder of your $fpath
  $ headcount completion fish > headcount.fish         put it into ~/.config/fish/completions
  $ headcount completion powershell > headcount.ps1    and dot-source it in your $PROFILE`)
    .action(async (shell: Shell | undefined, options: { readonly list?: List; readonly prefix?: string }) => {
      if (options.list !== undefined) await printList(options.list, options.prefix ?? "", context);
      else await printScript(shell, context);
    });
}

async function printScript(shell: Shell | undefined, context: Context): Promise<void> {
  if (shell === undefined) {
    throw usageError(`name the shell: ${Object.keys(FILES).join(", ")}`, "for example: headcount completion bash");
  }
  const file = new URL(`completions/${FILES[shell]}`, packageRoot());
  try {
    context.stdout.write(await readFile(file, "utf8"));
  } catch (cause) {
    throw new CliError({
      code: "missing_file",
      category: "filesystem",
      exitCode: EXIT.bug,
      message: `the completion script is missing from the installation: ${(cause as Error).message}`,
      hint: "install headcount again",
      cause,
    });
  }
}

/** `name TAB description` a line. What cannot be read in time offers nothing: a tab key is no place for an error. */
async function printList(what: List, prefix: string, context: Context): Promise<void> {
  const read = isFacetKey(what)
    ? valueLines(what, prefix, context)
    : {
        connections: connectionLines,
        runs: runLines,
        segments: segmentLines,
        jobs: (place: Context) => jobLines(prefix, place),
      }[what](context);
  const late = context.sleep(DEADLINE_MS).then(() => []);
  const lines = await Promise.race([read.catch(() => []), late]);
  context.stdout.write(lines.map((line) => `${line}\n`).join(""));
}

async function valueLines(key: FacetKey, prefix: string, context: Context): Promise<readonly string[]> {
  const [{ readConfig, findConnection }, { findFolder }, { withSession }, { valuesIn, ownedValues }, { filterSpec }] =
    await Promise.all([
      import("../../engine/connections/config.ts"),
      import("../../engine/connections/paths.ts"),
      import("../session.ts"),
      import("../../app/count/values.ts"),
      import("../../shared/contract/filters.ts"),
    ]);
  const spec = filterSpec(key);
  if (spec === undefined) return [];
  const wanted = { spec, filters: {}, limit: MAX_VALUES, ...(prefix === "" ? {} : { prefix }) };
  const config = readConfig(findFolder("config", context));
  const connection = context.env.HEADCOUNT_CONNECTION ?? config.default;
  const isLocked = !context.env.HEADCOUNT_API_KEY && findConnection(config, connection ?? "")?.keyStore === "keychain";
  const silent = { ...context, stderr: new Writable({ write: (_chunk, _encoding, done) => done() }) };
  const owned = async () => {
    const { serviceId, mode } = (await import("./owned/shelf.ts")).shelfOf({ maxWait: 0 }, context);
    return ownedValues({ serviceId, keyMode: mode }, context, wanted);
  };
  const asked = () => withSession(silent, { maxWait: 0, quiet: true }, (session) => valuesIn(session, silent, wanted));
  const found = isLocked ? await owned() : await asked().catch(owned);
  return (found?.values ?? []).map(({ value, count }) => line(value, `${count}`));
}

async function connectionLines(context: Context): Promise<readonly string[]> {
  const { readConfig, SAMPLE } = await import("../../engine/connections/config.ts");
  const { findFolder } = await import("../../engine/connections/paths.ts");
  const { connections } = readConfig(findFolder("config", context));
  const own = Object.entries(connections).map(([name, { baseUrl }]) => line(name, baseUrl));
  return [line(SAMPLE, "built in, synthetic people"), ...own];
}

async function segmentLines(context: Context): Promise<readonly string[]> {
  const { savedSegments } = await import("../../app/segments/segment-store.ts");
  const { spokenFilters } = await import("../../engine/runs/plan.ts");
  const lines = (await savedSegments(context)).map(async ({ name, file }) => {
    const text = await readFile(file, "utf8").then((read) => spokenFilters(JSON.parse(read) as never));
    return line(name, text.slice(0, 80));
  });
  return Promise.all(lines.map((each) => each.catch(() => "")));
}

async function jobLines(file: string, context: Context): Promise<readonly string[]> {
  const { readJobs } = await import("../../app/jobs/file.ts");
  const { jobs } = await readJobs(context, file === "" ? undefined : file);
  return jobs.map(({ name, schedule, output }) => line(name, [schedule?.text, output].filter(Boolean).join(", ")));
}

async function runLines(context: Context): Promise<readonly string[]> {
  const { findFolder } = await import("../../engine/connections/paths.ts");
  const folder = join(findFolder("state", context) ?? "", "runs");
  const ids = (await readdir(folder)).filter((name) => /^\d{8}-\d{6}-[0-9a-f]+$/.test(name));
  const newest = ids.sort().reverse().slice(0, MAX_RUNS);
  const lines = await Promise.all(newest.map(async (id) => line(id, await runText(join(folder, id, "plan.json")))));
  return lines.length === 0 ? [] : [line("last", "the newest run"), ...lines];
}

async function runText(file: string): Promise<string> {
  try {
    const { targetText } = await import("../../engine/runs/plan.ts");
    return targetText((JSON.parse(await readFile(file, "utf8")) as { readonly target: never }).target).slice(0, 80);
  } catch {
    return "";
  }
}

const line = (name: string, text: string): string => `${name}\t${text.replace(/[\u0000-\u001f\u007f-\u009f]/g, " ")}`;
