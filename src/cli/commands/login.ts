import { platform } from "node:process";
import { mapError } from "../../app/failures.ts";
import { openClient } from "../../app/session.ts";
import { baseUrlText, parseBaseUrl } from "../../engine/client/addresses.ts";
import { DEFAULT_DIALECT } from "../../engine/client/dialect.ts";
import { patienceOf, retryCall } from "../../engine/client/retry.ts";
import type { AccountView } from "../../engine/client/types.ts";
import {
  type Config,
  type Connection,
  checkName,
  findConnection,
  readConfig,
  SAMPLE,
  updateConfig,
  withConnection,
} from "../../engine/connections/config.ts";
import type { Keychain } from "../../engine/connections/keychain.ts";
import { configDir } from "../../engine/connections/paths.ts";
import { checkKey, FROM_ENVIRONMENT } from "../../engine/connections/resolve.ts";
import { type Context, canPrompt } from "../../shared/context.ts";
import { creditsText } from "../../shared/contract/money.ts";
import { harmless } from "../../shared/contract/text.ts";
import { CliError, type DoorWords, usageError } from "../../shared/errors.ts";
import { sameCommand } from "../arguments/export-options.ts";
import { type Command, type GlobalOptions, Option } from "../options.ts";
import { requestLog, waitingOn } from "../session.ts";
import { Printer } from "../terminal/printer.ts";

export interface LoginOptions extends GlobalOptions {
  readonly keyStdin?: boolean;
  readonly insecureStorage?: boolean;
  readonly key?: string;
  readonly apiKey?: string;
}

/** Modes of files mean nothing on Windows. */
const FOR_WHOM = platform === "win32" ? "as safe as your profile folder" : "mode 0600";

export function register(program: Command, context: Context): void {
  const login = program.command("login");
  login
    .description(
      "Store a key for a connection, after checking it with a free call. " +
        "The key goes to the system's keychain, the address to the config file.",
    )
    .argument("[name]", 'name of the connection (default: the one in use, else "default")')
    .option("--key-stdin", "read the key from stdin instead of asking for it")
    .option("--insecure-storage", "keep the key in a file (mode 0600) instead of the keychain")
    .addOption(new Option("--key <key>").hideHelp())
    .addOption(new Option("--api-key <key>").hideHelp())
    .allowExcessArguments(true)
    .examples(`
  $ headcount login --base-url https://api.example.com
  $ pass show headcount | headcount login work --key-stdin --base-url https://api.example.com
  $ headcount login work --insecure-storage         where no keychain works

In cron, containers and CI: set HEADCOUNT_API_KEY and HEADCOUNT_BASE_URL instead; nothing is \
stored then.
To try things without an account: headcount -c sample account`)
    .does(
      `asks account
      reads connection
      writes connection
      exits 3 7 8 130`,
      async (options: LoginOptions, name: string | undefined) => {
        refuseKeyArgument([name, options.key, options.apiKey, ...login.args.slice(1)]);
        await logIn(name, options, context);
      },
    );
}

/**
 * A key in an argument is in the shell's history and in
 * the list of processes already: it is refused, not used.
 */
function refuseKeyArgument(words: readonly (string | undefined)[]): void {
  const [, key, apiKey, ...excess] = words;
  if ((key ?? apiKey) !== undefined || /_(live|test)_|^.{65,}$/m.test(words.join("\n"))) {
    throw usageError(
      "a key is never taken from an argument: others can read it in " +
        "the list of processes and in the shell's history",
      "revoke that key, then run headcount login and paste the new one, " +
        "or pipe it in: headcount login --key-stdin < FILE",
      "key_in_argument",
    );
  }
  if (excess.length > 0) throw usageError("login takes one name", "headcount help login");
}

/**
 * Asks for a key, checks it with a free call, and keeps it.
 * @param added the connection that is added with it, or not at all
 */
export async function logIn(
  nameGiven: string | undefined,
  options: LoginOptions,
  context: Context,
  added?: Connection,
): Promise<void> {
  if (context.env.HEADCOUNT_API_KEY?.trim()) {
    throw usageError(
      "HEADCOUNT_API_KEY is set: it is used in place of every " +
        "stored key, so a login would change nothing",
      "unset HEADCOUNT_API_KEY first, then run headcount login again",
      "key_from_environment",
    );
  }

  const dir = configDir(context);
  const config = readConfig(dir);
  const address = options.baseUrl || context.env.HEADCOUNT_BASE_URL;
  const selected = options.connection || context.env.HEADCOUNT_CONNECTION || config.default;

  // Who tries the sample and names an address means a connection of their own.
  const own = selected === SAMPLE && address ? undefined : selected;
  const name = ownName(nameGiven ?? own ?? "default");
  const before = added ?? findConnection(config, name);
  const baseUrl = await baseUrlFor(before, address, options, context);
  // Before anybody types a key: where it could not be kept.
  if (options.keyStdin !== true && options.insecureStorage !== true && canPrompt(context))
    await inKeychain((chain) => chain.get(name), context);

  const key = checkKey(await readKey(options, context), options.keyStdin ? "stdin" : "the prompt");
  const account = await checkWithService(
    { baseUrl, apiKey: key, name, vendor: before?.vendor },
    options,
    context,
  );

  const keyStore = options.insecureStorage ? ("file" as const) : ("keychain" as const);
  const place = { name, baseUrl, keyStore, before, dir };
  await storeKey(key, place, context);
  const next = await keepConnection(place, account);

  tell(place, next.default === name, account, new Printer(context, options));
}

/** @throws CliError exit 2 where it is one that stands for something else */
function ownName(text: string): string {
  const name = checkName(text);
  if (name === SAMPLE) {
    throw usageError(
      '"sample" is built in and needs no login',
      "headcount -c sample account",
      "reserved_name",
    );
  }

  if (name === FROM_ENVIRONMENT) {
    throw usageError(
      `"${FROM_ENVIRONMENT}" is the name of what HEADCOUNT_API_KEY and HEADCOUNT_BASE_URL make up`,
      "choose another name, for example: work",
      "reserved_name",
    );
  }

  return name;
}

/** How a service pages stays known as long as the connection leads to it. */
const keepConnection = (
  { name, baseUrl, keyStore, before, dir }: KeyPlace,
  { accountId }: AccountView,
): Promise<Config> =>
  updateConfig(dir, (config) => {
    const now = findConnection(config, name);
    const dialect = now?.baseUrl === baseUrl ? now.dialect : undefined;
    const vendor = before?.vendor;
    const connection = {
      baseUrl,
      keyStore,
      ...(accountId && { accountId }),
      ...(dialect && { dialect }),
      ...(vendor && { vendor }),
    };
    return withConnection({ ...config, default: config.default ?? name }, name, connection);
  });

/** @throws CliError (exit 3), with the same command, but that it keeps the key in a file */
async function inKeychain(
  work: (chain: Keychain) => Promise<unknown>,
  context: Context,
): Promise<void> {
  const { openKeychain } = await import("../../engine/connections/keychain.ts");
  const whole = sameCommand(context, "--insecure-storage");
  const speech: DoorWords = {
    option: String,
    command: (said) => (said.name === "login" ? whole : said),
  };
  await work(openKeychain(context)).catch((error: unknown) => {
    if (!(error instanceof CliError)) throw error;
    throw error.inWordsOf(speech);
  });
}

async function baseUrlFor(
  before: Connection | undefined,
  url: string | undefined,
  options: LoginOptions,
  context: Context,
): Promise<string> {
  if (url) return baseUrlText(parseBaseUrl(url));
  const isSettled = before?.vendor !== undefined || options.keyStdin || !canPrompt(context);
  if (before !== undefined && isSettled) return before.baseUrl;
  if (!canPrompt(context) || options.keyStdin) {
    throw usageError(
      "the service's address is missing",
      "give it with --base-url https://...",
      "no_base_url",
    );
  }

  const usual = before === undefined ? "" : ` [${before.baseUrl}]`;
  const answer = (await context.prompt(`Base URL${usual}: `)).trim();
  return baseUrlText(parseBaseUrl(answer === "" && before !== undefined ? before.baseUrl : answer));
}

async function readKey(options: LoginOptions, context: Context): Promise<string> {
  if (!options.keyStdin) {
    if (canPrompt(context)) return context.prompt("API key (not shown): ", { hidden: true });
    throw usageError(
      "the key cannot be asked for: this is no terminal",
      `pipe it in: ${sameCommand(context, "--key-stdin")} < FILE, ` +
        "or set HEADCOUNT_API_KEY instead of logging in",
      "cannot_prompt",
    );
  }

  let text = "";
  for await (const chunk of context.stdin) {
    text += String(chunk);
    if (text.length > 4_096)
      throw usageError(
        "what came on stdin is too long for a key",
        "pipe the key in and nothing else",
      );
  }

  return text;
}

/** A free call: a key that does not work is not stored. */
async function checkWithService(
  {
    apiKey,
    baseUrl,
    name,
    vendor,
  }: Pick<KeyPlace, "baseUrl" | "name"> & {
    readonly apiKey: string;
    readonly vendor: string | undefined;
  },
  options: LoginOptions,
  context: Context,
): Promise<AccountView> {
  const { now, env, sleep, random, interrupted: signal } = context;
  const maxWaitMs = options.maxWait * 1000;
  const timeouts = { free: patienceOf(maxWaitMs) };
  const log = requestLog(options, context);
  const asked = { baseUrl, apiKey, dialect: DEFAULT_DIALECT, now, env, log, timeouts };
  const client = await openClient({ ...asked, ...waitingOn(context, options) }, context, {
    vendor,
    isProbe: true,
  });

  try {
    const settings = { now, sleep, random, maxWaitMs, attempts: 3, signal };
    return await retryCall((inner) => client.account(inner), settings);
  } catch (error) {
    const mapped = mapError(error, { connectionName: name, baseUrl });
    if (!(mapped instanceof CliError)) throw mapped;

    const { message, status } = mapped;
    throw mapped.with({
      message: `${message}; the key was not stored`,
      ...(status === 401 && {
        hint: "check that the whole key was pasted and that it is for this address",
      }),
      // Doctor knows stored connections only.
      ...(mapped.category === "network" && {
        hint: `check that ${baseUrl} is right and up, then log in again`,
      }),
    });
  } finally {
    await client.close();
  }
}

interface KeyPlace {
  readonly name: string;
  readonly baseUrl: string;
  readonly keyStore: "keychain" | "file";
  readonly before: Connection | undefined;
  readonly dir: string;
}

async function storeKey(
  key: string,
  { before, dir, keyStore, name }: KeyPlace,
  context: Context,
): Promise<void> {
  const { keyFile, removeFromKeyFile, writeKeyFile } = await import(
    "../../engine/connections/key-file.ts"
  );

  if (keyStore === "file") {
    context.stderr.write(
      `warning: the key is about to be written unencrypted to ${keyFile(dir)} (${FOR_WHOM})\n`,
    );
    writeKeyFile(dir, name, key, context.platform);
    return;
  }

  await inKeychain((chain) => chain.set(name, key), context);
  if (before?.keyStore === "file") removeFromKeyFile(dir, name, context.platform);
}

function tell(
  { name, baseUrl, keyStore }: KeyPlace,
  isDefault: boolean,
  { accountName, accountId, balance }: AccountView,
  print: Printer,
): void {
  if (print.json) {
    print.document<"login">({
      connection: name,
      base_url: baseUrl,
      account_id: accountId ?? null,
      key_store: keyStore,
      default: isDefault,
    });
    return;
  }

  const who = accountName ?? accountId;
  const funds = balance === undefined ? "" : `, balance ${creditsText(balance)}`;
  print.note(`Connected to ${baseUrl}${who === undefined ? "" : ` as ${harmless(who)}`}${funds}`);
  const where = keyStore === "file" ? `a credentials file (${FOR_WHOM})` : "the system's keychain";
  print.note(
    `Connection "${name}"${isDefault ? " (used by default)" : ""}; its key is in ${where}`,
  );
}
