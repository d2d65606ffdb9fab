import type { Context } from "../../../shared/context.ts";
import type { Command } from "../../options.ts";
import * as diff from "./diff.ts";
import * as exporting from "./export.ts";
import * as importing from "./import.ts";
import * as rebuild from "./rebuild.ts";
import * as show from "./show.ts";
import * as status from "./status.ts";

export function register(program: Command, context: Context): void {
  const owned = program
    .command("owned")
    .summary("what you own: everybody ever bought, once (offline)")
    .description(
      "Everybody ever bought from a service, once, with every purchase and every record that came. Made from the runs by itself; asks nobody, costs nothing.",
    )
    .examples(`
  $ headcount -c sample owned
  $ headcount -c sample owned export --department Legal --fields name,title | head -3
  $ headcount -c sample count --owned --department Sales`);
  for (const part of [status, show, exporting, importing, diff, rebuild]) part.register(owned, context);
}
