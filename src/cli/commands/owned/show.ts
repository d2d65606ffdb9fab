import { changedFields, fieldsOf, type PastPurchase, recordStatesOf } from "../../../engine/library/history.ts";
import type { Context } from "../../../shared/context.ts";
import { credits, creditsToNumber, formatCreditsGrouped } from "../../../shared/contract/money.ts";
import { echo, grouped } from "../../../shared/contract/text.ts";
import { type CliError, failed } from "../../../shared/errors.ts";
import { type JsonValue, stringifyExact } from "../../../shared/rows/values.ts";
import type { Command } from "../../options.ts";
import { addShelfOption, atLibrary, type LibraryDesk, type ShelfOptions } from "./shelf.ts";

export function register(owned: Command, context: Context): void {
  addShelfOption(owned.command("show <person>"))
    .description(
      "Show what is owned of a person, named by id, profile address or its slug, or whole name: the record, every purchase, what changed.",
    )
    .examples(`
  $ headcount owned show "$(headcount sql 'select id from people limit 1' | tail -1)"
  $ headcount owned show "$(headcount sql 'select network_url from people limit 1' | tail -1)" --json | jq .purchases`)
    .does(atLibrary(context, show));
}

const iso = (at: number): string => new Date(at).toISOString();

function documentOf(purchases: readonly PastPurchase[]) {
  const states = recordStatesOf(purchases);
  return {
    record: fieldsOf(states.at(-1)?.record ?? "{}"),
    states: states.map(({ from, to, record }, index) => ({
      valid_from: iso(from),
      last_confirmed: iso(to),
      changed: index === 0 ? [] : changedFields(fieldsOf(states[index - 1]?.record ?? "{}"), fieldsOf(record)),
    })),
    purchases: purchases.map(({ at, run, price }) => ({ at: iso(at), run, credits: creditsToNumber(credits(price)) })),
  };
}

async function show({ library, printer }: LibraryDesk<ShelfOptions>, person: string): Promise<void> {
  const people = library?.find(person) ?? [];
  if (library === undefined || people.length === 0) throw notOwned(person);
  const everybody = people.map((one) => library.purchases(one));
  const documents = everybody.map(documentOf);
  if (printer.json)
    return printer.text(`${stringifyExact(documents.length === 1 ? (documents[0] ?? null) : documents)}\n`);
  for (const [index, { record, states }] of documents.entries()) {
    await printer.card(Object.entries(record).map(([name, value]) => [name, textOf(value)]));
    const seen = states.map(({ valid_from, changed }) =>
      changed.length === 0
        ? (["seen", valid_from] as const)
        : (["changed", `${valid_from}: ${changed.join(", ")}`] as const),
    );
    const bought = (everybody[index] ?? []).map(
      ({ at, run, price }) =>
        ["bought", `${iso(at)} for ${formatCreditsGrouped(credits(price))} in run ${run}`] as const,
    );
    await printer.card([...seen, ...bought], 2);
  }
  if (documents.length > 1)
    printer.note(`${grouped(documents.length)} people are called so; an id or a profile address names one`);
}

const textOf = (value: JsonValue): string | undefined =>
  value === null ? undefined : typeof value === "object" ? stringifyExact(value) : String(value);

const notOwned = (person: string): CliError =>
  failed.not_found(
    `nobody who is owned is "${echo(person)}"`,
    "a person is named by id, profile address or its slug, or whole name; headcount owned says how many are owned",
    "not_owned",
  );
