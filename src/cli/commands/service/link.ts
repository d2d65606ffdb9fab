import type { Context } from "../../../shared/context.ts";
import { usageError } from "../../../shared/errors.ts";
import { type Command, Option } from "../../options.ts";
import { type AccountOptions, addAccountOptions, withStore } from "./folder.ts";

const DEFAULT_ORIGIN = "http://127.0.0.1:8787";
const ROLES = ["operator", "owner", "viewer"] as const;

interface LinkOptions extends AccountOptions {
  readonly role?: (typeof ROLES)[number];
  readonly url?: string;
}

/** `service link`: whoever may write the data folder lets somebody into the console. */
export function register(service: Command, context: Context): void {
  addAccountOptions(service.command("link"))
    .summary("print a link that signs in to the console")
    .description(
      "Print a link that signs in to the console of `headcount serve`: once, and within ten minutes. An operator may do everything, an owner everything of one account, a viewer looks at it and spends nothing.",
    )
    .addOption(
      new Option("--role <role>", "what the link allows (default: operator; with --account: owner)").choices(ROLES),
    )
    .option("--url <url>", "where the service is (default: where it was last started)")
    .examples(`
  $ headcount service link
  $ headcount service link --account default              as its owner, and not as operator of all
  $ headcount service link --role viewer --url https://people.example`)
    .action((_: unknown, command: Command) => {
      // A link for somebody else's account must not be one to all accounts because a word was left out.
      const isNamed = command.getOptionValueSource("account") !== "default";
      return run(command.optsWithGlobals<LinkOptions>(), isNamed ? "owner" : "operator", context);
    });
}

async function run(options: LinkOptions, usual: NonNullable<LinkOptions["role"]>, context: Context): Promise<void> {
  const { account, role = usual, url } = options;
  if (url !== undefined && !(URL.canParse(url) && /^https?:$/.test(new URL(url).protocol))) {
    throw usageError(`--url takes an address such as https://people.example, not "${url}"`);
  }
  const link = await withStore(options, context, async (store) => {
    const origin = url === undefined ? ((await store.console.lastServed()) ?? DEFAULT_ORIGIN) : new URL(url).origin;
    if ((await store.account(account)) === undefined) {
      throw usageError(`no account named "${account}"`, "headcount service accounts lists them");
    }
    const { makeLink } = await import("../../../service/console/sessions.ts");
    return `${origin}/console/enter#t=${await makeLink(store, { accountId: account, role, now: context.now(), by: "service link" })}`;
  });
  context.stdout.write(options.json ? `${JSON.stringify({ link, account, role })}\n` : `${link}\n`);
}
