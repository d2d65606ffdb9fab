import type { Context } from "../../../shared/context.ts";
import { grouped } from "../../../shared/contract/text.ts";
import { usageError } from "../../../shared/errors.ts";
import { type Command, wholeNumber } from "../../options.ts";
import { withBuild } from "./build.ts";
import type { FolderOptions } from "./folder.ts";

interface GenerateOptions extends FolderOptions {
  readonly people?: string;
  readonly seed: string;
}

export function register(service: Command, context: Context): void {
  service
    .command("generate")
    .summary("make a synthetic dataset of any size")
    .description(
      "Replace the dataset of a data folder by synthetic people, and about one company for seven of them. The same number and seed give the same people on every machine. A running service takes it over by itself.",
    )
    .option("--data <dir>", "data folder with the dataset and the accounts (default: the XDG data folder)")
    .option("--people <n>", "how many people, 1 to 4000000000")
    .option("--seed <s>", "another seed gives other people, 0 to 4294967295", "1")
    .examples(`
  $ headcount service generate --people 1000 --data ./demo
  $ headcount service generate --people 100000 --seed 7 --data ./demo --json`)
    .does((options: GenerateOptions) => run(options, context));
}

async function run(options: GenerateOptions, context: Context): Promise<void> {
  if (options.people === undefined) throw usageError("--people is missing", "for example --people 50000");
  const people = wholeNumber("--people", 1, 4_000_000_000)(options.people);
  const seed = wholeNumber("--seed", 0, 4_294_967_295)(options.seed);
  const began = context.now();
  const meta = await withBuild(options, context, async (setup) => {
    const { generateDataset } = await import("../../../dataset/build/sample.ts");
    return generateDataset({ people, seed }, setup);
  });
  const seconds = (context.now() - began) / 1_000;
  const { version, companies } = meta;
  if (options.json) {
    context.stdout.write(`${JSON.stringify({ version, people, companies, seed, seconds })}\n`);
  } else if (!options.quiet) {
    const made = `${grouped(people)} people and ${grouped(companies)} companies`;
    context.stderr.write(`Generated ${made} in ${seconds.toFixed(1)} s (dataset ${version}).\n`);
  }
}
