import { resolve } from "node:path";
import {
  dropVendor,
  keepVendor,
  ownFile,
  shippedNames,
  shippedVendor,
  type Vendor,
  vendorOf,
} from "../../app/vendors.ts";
import { baseUrlText, parseBaseUrl } from "../../engine/client/addresses.ts";
import {
  checkName,
  existingConnection,
  findConnection,
  readConfig,
  SAMPLE,
  serviceIdOf,
  updateConfig,
  withConnection,
} from "../../engine/connections/config.ts";
import { configDir, findFolder } from "../../engine/connections/paths.ts";
import { summaryOf } from "../../engine/dialect/terms.ts";
import { type Context, canPrompt } from "../../shared/context.ts";
import { creditsText, parseCredits, ZERO } from "../../shared/contract/money.ts";
import { didYouMean } from "../../shared/contract/suggest.ts";
import { counted, echo, present } from "../../shared/contract/text.ts";
import { paidCall } from "../../shared/dialect/shape.ts";
import { failed, usageError } from "../../shared/errors.ts";
import { readInput } from "../../shared/input.ts";
import type { Command, GlobalOptions } from "../options.ts";
import { type ColumnOf, printList } from "../terminal/list.ts";
import { atDesk, type Desk } from "../terminal/printer.ts";
import { type LoginOptions, logIn } from "./login.ts";

interface AddOptions extends LoginOptions {
  readonly dialect?: string;
  readonly price?: string;
  readonly sharedKey?: boolean;
}

export function registerDialects(connections: Command, context: Context): void {
  connections
    .command("add")
    .description(
      "add a vendor whose file says how it is asked; asks for its key (docs/how-to/vendors.md). " +
        "--base-url puts another address in place of the file's",
    )
    .argument("<name>", "name of the connection")
    .requiredOption("--dialect <name|file>", "a vendor's file: its name, or a path of your own")
    .option("--price <credits>", "what a person costs by your plan, in place of the file's price")
    .option("--shared-key", "other machines buy by this key, too: no balance tells a charge")
    .option("--key-stdin", "read the key from stdin instead of asking for it")
    .option("--insecure-storage", "keep the key in a file (mode 0600) instead of the keychain")
    .examples(`
  $ headcount connections dialects                  the files that come with headcount
  $ headcount connections add pdl --dialect pdl
  $ headcount connections add mine --dialect ./mine.json --key-stdin < KEY`)
    .does(
      `asks account
      reads connection given
      writes connection pacing
      exits 3 7 8 130`,
      atDesk(context, add),
    );

  connections
    .command("dialects")
    .description("list the vendors that headcount comes with a file for, and what they cost")
    .does("nothing", atDesk(context, list));

  connections
    .command("show")
    .description("print the file that a connection speaks by, as it stands, or a shipped one")
    .argument("<name>", "name of the connection, or of a file that comes with headcount")
    .does("reads connection", atDesk(context, show));
}

const MOST_BYTES = 1 << 20;

/**
 * By the name of a shipped file, or by a path.
 * @throws CliError exit 2 for what is neither, or is no such file
 */
async function vendorBy(word: string, context: Context): Promise<Vendor> {
  if (/[/\\.]/.test(word)) {
    const text = await readInput(context, resolve(context.cwd, word), "dialect", MOST_BYTES);
    return vendorOf(text, word);
  }
  const names = shippedNames();
  if (names.includes(word)) return shippedVendor(word);
  throw usageError(
    `there is no dialect "${echo(word)}"; there is: ${names.join(", ")}`,
    didYouMean(word, names) ?? "or the path of a file of your own, as in ./mine.json",
    "no_such_dialect",
  );
}

/**
 * The same file with another price of a person, as prices differ by plan, and with who else buys
 * by the key: its copy has it.
 * @throws CliError exit 2 for what is no amount
 */
async function adapted(given: Vendor, { price: credits, sharedKey }: AddOptions): Promise<Vendor> {
  if ((credits ?? sharedKey) === undefined) return given;
  const { file } = given;
  const { calls } = file;
  const name = calls.read === undefined ? "search" : "read";
  const call = paidCall(file);
  // No page told it, so it has no day.
  const { read: _, ...price } = call.price ?? { per: "row" as const };
  const paid = credits === undefined ? call : { ...call, price: { ...price, credits } };
  const own = { ...file, ...present({ shared: sharedKey }), calls: { ...calls, [name]: paid } };
  return vendorOf(JSON.stringify(own, null, 2), `--price ${echo(credits ?? "")}`);
}

async function add({ options, printer, context }: Desk<AddOptions>, nameGiven: string) {
  const name = checkName(nameGiven);
  if (name === SAMPLE)
    throw usageError('"sample" is built in', "choose another name", "reserved_name");

  const vendor = await adapted(await vendorBy(options.dialect ?? "", context), options);
  const { file, digest } = vendor;
  const baseUrl = baseUrlText(parseBaseUrl(options.baseUrl ?? file.base));
  const dir = configDir(context);
  const before = findConnection(readConfig(dir), name);
  const own = { baseUrl, vendor: await keepVendor(vendor, context) };
  // A key stays with the service that it was stored for.
  const isSame = before !== undefined && serviceIdOf(before) === serviceIdOf(own);
  const connection = { ...(isSame ? before : {}), ...own };

  const dialect = summaryOf(file);
  if (!options.json) tell(dialect, unitOf(file), printer);
  const isAsked =
    (options.keyStdin === true || canPrompt(context)) && !context.env.HEADCOUNT_API_KEY?.trim();
  try {
    if (isAsked)
      await logIn(
        name,
        { ...options, json: false, quiet: options.json === true },
        context,
        connection,
      );
    else await updateConfig(dir, (config) => withConnection(config, name, connection));
  } catch (error) {
    await dropVendor(connection.vendor, context);
    throw error;
  }

  if (options.json)
    printer.document<"connections add">({ connection: name, base_url: baseUrl, digest, dialect });
  else if (!isAsked)
    printer.note(`headcount login ${name} asks for its key, or HEADCOUNT_API_KEY holds it`);
}

type Summary = ReturnType<typeof summaryOf>;

/** What a price is of, in words. */
function unitOf(file: Vendor["file"]): string {
  const { pages, price } = paidCall(file);
  if (price?.per === "started") return `${price.rows} rows that are begun`;
  return price?.per === "request" ? `page of ${pages?.size[1] ?? 1}` : (price?.per ?? "call");
}

function tell(summary: Summary, unit: string, printer: Desk<object>["printer"]): void {
  const { called, count, filters, name, person, read, stages, told, vendor, why } = summary;
  const from = read === null ? "a file of your own" : `from public pages read on ${read}`;
  const who = called === null ? "nobody has called the vendor with it yet" : `called on ${called}`;
  printer.note(`${name}: ${vendor ?? "a vendor"}, dialect 1, ${from}; ${who}`);

  const counting =
    count === null ? "no count" : count === "0" ? "a count is free" : `a count would cost ${count}`;
  const how = stages === 2 ? "; whom there is, is found first and for nothing" : "";
  const where = told === null ? "; the charge is told nowhere, and counted" : `; told in ${told}`;
  const price = creditsText(parseCredits(person) ?? ZERO);
  printer.note(`  ${price} per ${unit}, ${counting}${how}${where}`);
  printer.note(`  filters: ${filters.join(", ")}`);
  if (why !== null) printer.note(`  cannot: ${why}`);
  // Who is owned, and who is there at all, ids tell that are found first.
  const byIds = stages === 2 ? "" : "--new-only, --sample, --ids, read, refresh, ";
  // Values are counted one by one, where that is free.
  const others = count === "0" ? "" : "count --by, ";
  printer.note(`  cannot: ${byIds}${others}several segments at once`);
}

const COLUMNS: readonly ColumnOf<Summary>[] = [
  { name: "name" },
  { name: "vendor", long: true },
  { name: "person", title: "credits" },
  { name: "per", title: "per", long: true },
  { name: "count", title: "a count" },
  { name: "stages" },
  { name: "filters", value: ({ filters }) => filters.length },
  { name: "read" },
  {
    name: "buys",
    show: ({ buys }) => (buys ? "yes" : "not yet"),
  },
];

async function list({ options, printer }: Desk<GlobalOptions>) {
  const files = await Promise.all(shippedNames().map(shippedVendor));
  const dialects = files.map(({ file }) => summaryOf(file));
  if (options.json) return printer.document<"connections dialects">({ dialects });

  await printList(COLUMNS, dialects, printer, "none");
  printer.note(`${counted(dialects.length, "file")}; nobody has called a vendor with one yet`);
}

async function show({ printer, context }: Desk<GlobalOptions>, name: string) {
  const config = readConfig(findFolder("config", context));
  // Whoever writes a file of their own begins with one that comes with headcount.
  if (findConnection(config, name) === undefined && shippedNames().includes(name)) {
    printer.text((await shippedVendor(name)).text);
    return printer.note(
      `no connection speaks by it yet: headcount connections add ${name} --dialect ${name}`,
    );
  }

  const { vendor } = existingConnection(config, name);
  if (vendor === undefined)
    throw failed.usage(
      `"${name}" speaks the contract, by no file`,
      "headcount connections dialects lists the vendors that are asked by one",
    );
  const { digest, text } = await ownFile(vendor, context);
  printer.text(text.endsWith("\n") ? text : `${text}\n`);
  printer.note(`SHA-256 ${digest}`);
}
