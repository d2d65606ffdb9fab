import { costsOf } from "../../engine/client/types.ts";
import { stateDir } from "../../engine/connections/paths.ts";
import { openLibrary, type Shelf, shelfAt } from "../../engine/library/take-in.ts";
import { spokenTarget } from "../../engine/runs/plan.ts";
import type { RunSummary } from "../../engine/runs/reader.ts";
import { contradiction } from "../../shared/contract/facets.ts";
import { ARGUMENTS, hintsFor, questionsTo } from "../../shared/contract/hints.ts";
import { creditsOrNull, creditsToNumber, priceOf } from "../../shared/contract/money.ts";
import { didYouMean } from "../../shared/contract/suggest.ts";
import { echo, harmlessLine } from "../../shared/contract/text.ts";
import {
  type CanonicalFilters,
  FACET_KEYS,
  FILTER_KEYS,
  FILTER_SPECS,
  filterSpec,
  isFacetKey,
  knownValues,
} from "../../shared/contract/vocabulary.ts";
import { CliError, failed, usageError } from "../../shared/errors.ts";
import { openRuns } from "../keep/store.ts";
import { inert, THIRD_PARTY } from "./rows.ts";
import { type Input, RUNS_MOST } from "./schemas.ts";
import { filtersOfTool } from "./targets.ts";
import { type AgentWorld, budgetDocument, withService } from "./world.ts";

export async function accountTool(world: AgentWorld) {
  return await withService(world, async ({ client, keyMode }) => {
    const account = await client.account(world.context.interrupted);
    const mode = account.keyMode ?? keyMode ?? null;

    return {
      balance: creditsOrNull(account.balance),
      held: creditsOrNull(account.held),
      source: THIRD_PARTY,
      plan: account.plan === undefined ? null : inert(account.plan),
      limits: {
        per_minute: account.perMinute ?? null,
        per_day: account.perDay ?? null,
        per_page_max: account.perPageMax ?? null,
        max_depth: account.maxDepth ?? null,
      },
      costs: costsOf(account),
      mode,
      budget: await budgetDocument(world, mode === "test"),
    };
  });
}

export async function countTool(
  { filters: input, by, top = 10 }: Input<"count_people">,
  world: AgentWorld,
) {
  const { interrupted: signal } = world.context;
  const { canonical, filters } = filtersOfTool(input);

  if (by !== undefined && !isFacetKey(by))
    throw usageError(
      `"${echo(by)}" is no key to count by; one of ${FACET_KEYS.join(", ")}`,
      didYouMean(by, FACET_KEYS) ?? "leave by out to count the segment as a whole",
    );

  return await withService(world, async ({ client, keyMode, serviceId }) => {
    const { count, cached, asOf, unmatched } = await client.count(filters, signal);
    const { costs, keyMode: mode, parcel } = await client.account(signal);
    const owned = await ownedOf(canonical, { serviceId, mode: mode ?? keyMode ?? "live" }, world);
    const questions = questionsTo(client, signal, ARGUMENTS);
    const { hints } = await hintsFor({ filters, count, unmatched }, questions);
    const whole = {
      count,
      as_of: asOf ?? null,
      cached: cached ?? null,
      unit_cost: creditsOrNull(costs.person_search),
      max_cost:
        costs.person_search === undefined
          ? null
          : creditsToNumber(priceOf(count, costs.person_search, parcel)),
      owned: owned === null ? null : Math.min(owned, count),
      ...(hints.length === 0 ? {} : { hints }),
    };
    if (by === undefined) return whole;

    const facet = await client.facets(filters, by as (typeof FACET_KEYS)[number], {
      limit: top,
      signal,
    });
    if (facet === undefined || !facet.exact) {
      throw failed.service(
        `the service did not list the values of ${by}`,
        "count each value by itself: a filter a call",
        "no_values",
      );
    }

    const parts = facet.values.map(({ value, count: people }) => ({
      value: harmlessLine(value),
      count: people,
    }));
    const more = parts.reduce((sum, part) => sum + part.count, -count);
    const said = more > 0 ? [...hints, contradiction(by, more, count)] : hints;
    const hinted = said.length === 0 ? {} : { hints: said };
    return {
      ...whole,
      ...hinted,
      parts,
      others: facet.others ?? null,
      missing: facet.missing ?? null,
    };
  });
}

/** How many are owned as the records have it, at no call; null where nobody can tell. */
async function ownedOf(
  canonical: CanonicalFilters,
  { serviceId, mode }: Pick<Shelf, "serviceId" | "mode">,
  world: AgentWorld,
): Promise<number | null> {
  try {
    const opened = await openLibrary(
      shelfAt(stateDir(world.context), serviceId, mode),
      openRuns(world.context),
    );
    if (opened === undefined) return 0;

    try {
      return opened.library.count(canonical);
    } finally {
      opened.library.close();
    }
  } catch (error) {
    // A count is worth telling without it: the library's package
    // may be missing, or another command be at work in it.
    if (error instanceof CliError) return null;
    throw error;
  }
}

const VALUES_MOST = 50;

export async function describeTool({ key, prefix }: Input<"describe_filters">, world: AgentWorld) {
  const spec = key === undefined ? undefined : filterSpec(key);
  if (key !== undefined && spec === undefined)
    throw usageError(
      `unknown filter: "${echo(key)}"; valid filters: ${FILTER_KEYS.join(", ")}`,
      didYouMean(key, FILTER_KEYS) ?? "leave key out for all of them",
    );
  if (spec === undefined && prefix !== undefined)
    throw usageError("prefix goes with a key", "say whose values are to begin with it");

  const keys = (spec === undefined ? FILTER_SPECS : [spec]).map(
    ({ key: name, match, list, description }) => ({
      key: name,
      match,
      list,
      description,
    }),
  );
  const [only] = keys;
  if (spec === undefined || only === undefined) return { keys };

  const isKnown = knownValues(spec.key).length > 0;
  if (isKnown && prefix === undefined) {
    return { keys: [{ ...only, values: knownValues(spec.key).map((value) => ({ value })) }] };
  }

  const name = spec.key;
  if (!isFacetKey(name)) return { keys };

  return await withService(world, async ({ client }) => {
    const facet = await client.facets({}, name, {
      limit: VALUES_MOST,
      prefix,
      signal: world.context.interrupted,
    });
    if (facet === undefined || !facet.exact) return { keys };
    const values = facet.values.map(({ value, count }) => ({ value: harmlessLine(value), count }));
    return { keys: [{ ...only, values }] };
  });
}

const runDocument = (run: RunSummary) => ({
  run: run.id,
  kind: { search: "people", employees: "employees", enrich: "enrich" }[run.plan.command],
  filters: inert(harmlessLine(spokenTarget(run.plan.target))),
  profiles: run.rows,
  credits: creditsToNumber(run.settled),
  state: run.status,
  when: new Date(run.lastAt).toISOString(),
});

/** Runs of this user, the newest first: `next` is where the following call goes on. */
export async function runsTool(
  { state, limit = RUNS_MOST, after }: Input<"runs">,
  world: AgentWorld,
) {
  const store = openRuns(world.context);
  const ids = await store.ids();
  const from = after === undefined ? 0 : ids.indexOf(await store.resolve(after)) + 1;
  const runs: ReturnType<typeof runDocument>[] = [];
  for (const [at, id] of ids.entries()) {
    if (at < from) continue;
    const summary = await store.summary(id);
    if (summary === undefined || (state !== undefined && summary.status !== state)) continue;
    const last = runs.at(-1);
    if (runs.length === limit && last !== undefined) return { runs, next: last.run };
    runs.push(runDocument(summary));
  }

  return { runs };
}
