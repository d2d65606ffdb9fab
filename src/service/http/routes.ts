import type { FastifyInstance, FastifyRequest } from "fastify";
import type { RecordPage } from "../../dataset/engine.ts";
import { envelopeJson, listOf } from "../../shared/contract/envelope.ts";
import { creditsToNumber } from "../../shared/contract/money.ts";
import type { KeyResult } from "../../shared/schema/api.ts";
import { facetsOf, onOneVersion } from "../admin/datasets.ts";
import { timeOf } from "../ledger/clock.ts";
import { type KeyBudget, type KeyDetail, leftOfCap } from "../ledger/ledger.ts";
import { accountBody } from "../money/account.ts";
import type { ChargedReply } from "../money/billing.ts";
import { LEFT_OUT } from "../people/suppressed.ts";
import { Problem } from "../problem.ts";
import type { Answer } from "./call.ts";
import { API_ROUTES, type CallName } from "./calls.ts";
import {
  admitted,
  type Endpoint,
  freeAnswer,
  freeMagic,
  inFreeTurn,
  type RouteOptions,
  sell,
} from "./endpoint.ts";
import { magicOfCompany, magicOfFilters } from "./magic.ts";
import { send } from "./reply.ts";
import {
  companyParameter,
  jsonBody,
  type PageRequest,
  queryText,
  readCount,
  readCounts,
  readEmployees,
  readEnrich,
  readFacets,
  readSearch,
  refuseQuery,
  segmentHash,
  writeCursor,
} from "./requests.ts";

type Endpoints = Readonly<Partial<Record<CallName, Endpoint>>>;
const ENDPOINTS: Endpoints = { account, count, counts, search, enrich, employees, facets, key };

/** @param more calls that not every service has: where one is missing, it is a 404 */
export function addRoutes(app: FastifyInstance, options: RouteOptions, more: Endpoints): void {
  const endpoints = { ...ENDPOINTS, ...more };
  for (const [url, { method, name }] of Object.entries(API_ROUTES)) {
    const endpoint = endpoints[name];
    if (endpoint === undefined) continue;

    app.route({
      url,
      method,
      handler: async (request, reply) => {
        const answer = await endpoint(request, options);
        return send(request, reply, admitted(request).rate, answer);
      },
    });
  }
}

async function account(
  request: FastifyRequest,
  { dataset, maxDepth, store }: RouteOptions,
): Promise<Answer> {
  refuseQuery(queryText(request));
  const { account, key } = admitted(request);
  const { engine } = await dataset(key.mode);
  const money = await store.balance(key.accountId, key.mode);
  return {
    status: 200,
    headers: {},
    body: accountBody({ account, key, money, dataset: engine.info(), maxDepth }),
  };
}

async function count(request: FastifyRequest, options: RouteOptions): Promise<Answer> {
  refuseQuery(queryText(request));
  const { canonical, filters } = readCount(jsonBody(request));
  const { account, key } = admitted(request);

  await freeMagic(request, options, filters);

  const { counts } = await options.dataset(key.mode);
  const work = () => counts.count(filters, canonical, account.id);
  let counted = await counts.recall(canonical, account.id);
  if (counted === undefined) {
    options.admission.weigh(request.call, filters);
    counted = await inFreeTurn(request, options, work);
  }

  options.smallCounts.tell(key, account.plan, { segment: canonical, count: counted.count });
  const result = `{"count":${counted.count},"cached":${counted.cached},"as_of":"${counted.asOf}"}`;
  return freeAnswer(request, options, { result, version: counted.version });
}

async function facets(request: FastifyRequest, options: RouteOptions): Promise<Answer> {
  refuseQuery(queryText(request));
  const { account, key } = admitted(request);
  const question = readFacets(jsonBody(request), account.plan.smallCounts);
  await freeMagic(request, options, question.filters);

  const { engine } = await options.dataset(key.mode);
  const limits = { ...options.timeouts, now: options.now };
  options.admission.weigh(request.call, question.filters);

  const work = () =>
    onOneVersion(engine, async (version) => ({
      version,
      facet: await facetsOf(engine, question, limits),
    }));

  const { facet, version } = await inFreeTurn(request, options, work);
  options.smallCounts.tellFacet(key, account.plan, question, facet);

  return freeAnswer(request, options, { result: JSON.stringify(facet), version });
}

/** Counts of one company each: the account learns as much of few people as by one call for each. */
async function counts(request: FastifyRequest, options: RouteOptions): Promise<Answer> {
  refuseQuery(queryText(request));
  const { filters, each } = readCounts(jsonBody(request));
  const { account, key } = admitted(request);
  const { counts, engine } = await options.dataset(key.mode);
  options.admission.weigh(request.call, filters, each.length);

  const work = () =>
    onOneVersion(engine, async (version) => {
      const numbers: number[] = [];
      for (const { canonical, filters } of each) {
        numbers.push((await counts.count(filters, canonical, account.id)).count);
      }
      return { numbers, version };
    });

  const { numbers, version } = await inFreeTurn(request, options, work);
  for (const [at, { canonical: segment }] of each.entries()) {
    options.smallCounts.tell(key, account.plan, { segment, count: numbers[at] ?? 0 });
  }

  const result = JSON.stringify({ counts: numbers, as_of: timeOf(options.now()) });
  return freeAnswer(request, options, { result, version });
}

async function search(request: FastifyRequest, options: RouteOptions): Promise<Answer> {
  refuseQuery(queryText(request));
  const { account, key } = admitted(request);
  const { canonical, filters, paging } = readSearch(jsonBody(request), options.maxDepth);

  return sell(request, options, {
    costed: "person_search",
    rows: paging.perPage,
    identity: canonical,
    paging,
    magic: () => magicOfFilters(filters, true),

    async work({ engine }, version) {
      const page = await engine.people(filters, { offset: paging.offset, limit: paging.perPage });
      // Nothing is charged for it, and it says and costs as
      // much as a count does: also behind the last page.
      if (page.records.length === 0) {
        options.smallCounts.tell(key, account.plan, { segment: canonical, count: page.total });
        options.admission.weigh(request.call, filters);
      }
      return boughtPage(page, paging, { version, segment: canonical, target: "/v1/person/search" });
    },
  });
}

async function enrich(request: FastifyRequest, options: RouteOptions): Promise<Answer> {
  const lookup = readEnrich(queryText(request));
  const miss = companyMiss(lookup);

  return sell(request, options, {
    costed: "company_enrich",
    rows: 1,
    identity: companyParameter(lookup),
    miss,
    magic: () => magicOfCompany(lookup),

    async work({ engine }, version) {
      const company = await engine.company(lookup);
      if (company === undefined) throw miss;
      return { rows: 1, result: [company.record], headers: { "x-dataset-version": version } };
    },
  });
}

async function employees(request: FastifyRequest, options: RouteOptions): Promise<Answer> {
  const { account, key } = admitted(request);
  const { lookup, paging } = readEmployees(queryText(request), options.maxDepth);
  const segment = companyParameter(lookup);
  const miss = companyMiss(lookup);

  return sell(request, options, {
    costed: "company_employees",
    rows: paging.perPage,
    identity: segment,
    paging,
    miss,
    magic: () => magicOfCompany(lookup),

    async work({ engine }, version) {
      const company = await engine.company(lookup);
      if (company === undefined) throw miss;

      const slice = { offset: paging.offset, limit: paging.perPage };
      // What a count of the address finds, also where several companies share a slug.
      const page = await (lookup.by === "company_network_url"
        ? engine.people(
            { exact: {}, prefix: {}, range: {}, company_network_url: lookup.value },
            slice,
          )
        : engine.employees(company.id, slice));

      if (page.records.length === 0) {
        options.smallCounts.tell(key, account.plan, {
          segment: company.id,
          more: "employees",
          count: page.total,
        });
      }

      const target = `/v1/company/employees?${lookup.by}=${encodeURIComponent(lookup.value)}`;
      return boughtPage(page, paging, { version, segment, target });
    },
  });
}

function boughtPage(
  page: RecordPage,
  paging: PageRequest,
  { segment, target, version }: Readonly<Record<"version" | "segment" | "target", string>>,
): ChargedReply {
  const headers: Record<string, string> = {
    "x-dataset-version": version,
    "x-total-count": String(page.total),
    "x-page": String(paging.page),
    "x-per-page": String(paging.perPage),
  };
  const { leftOut = [], records } = page;
  const rows = records.length;
  if (leftOut.length > 0) headers[LEFT_OUT] = String(leftOut.length);

  const next = paging.offset + rows + leftOut.length;
  if (next > paging.offset && next < page.total) {
    const cursor = writeCursor({ version, segment: segmentHash(segment), offset: next });
    headers["x-next-cursor"] = cursor;
    // After a cursor no page of this size may begin where this one ends.
    const [name, value] =
      next === paging.page * paging.perPage ? ["page", paging.page + 1] : ["cursor", cursor];
    // A GET can be followed as it stands. Of a POST the attributes say what to put into the body.
    headers.link = target.includes("?")
      ? `<${target}&${name}=${value}&per_page=${paging.perPage}>; rel="next"`
      : `<${target}>; rel="next"; ${name}="${value}"; per_page="${paging.perPage}"`;
  }

  return { rows, result: listOf(records), headers };
}

const companyMiss = (lookup: { readonly by: string; readonly value: string }): Problem =>
  new Problem(404, [`no company matches ${lookup.by} ${lookup.value.slice(0, 64)}`]);

/** What the key that asks may do (docs/contract-keys.md, Keys). */
async function key(request: FastifyRequest, { store }: RouteOptions): Promise<Answer> {
  refuseQuery(queryText(request));
  const { account, key } = admitted(request);
  const detail = await store.key(key.id);
  if (detail === undefined) throw new Error("a key was let in that is not there");

  const { balance, held } = await store.money(detail.accountId, detail.mode);
  const result: KeyResult = {
    account: { id: account.id, name: account.name },
    key: keyOf(detail),
    cap: detail.budget && capOf(detail.budget),
    credits: { remaining: creditsToNumber(balance), held: creditsToNumber(held) },
  };
  return { status: 200, headers: {}, body: envelopeJson(JSON.stringify(result), balance) };
}

const keyOf = ({
  createdAt,
  expiresAt,
  id,
  lastUsedAt,
  mode,
  name,
  prefix,
  scopes,
}: KeyDetail): KeyResult["key"] => ({
  id,
  name,
  mode,
  prefix,
  scopes,
  created_at: timeOf(createdAt),
  expires_at: timeOf(expiresAt),
  last_used_at: timeOf(lastUsedAt),
});

const capOf = (budget: KeyBudget): NonNullable<KeyResult["cap"]> => ({
  max_credits: creditsToNumber(budget.cap),
  spent: creditsToNumber(budget.spent),
  held: creditsToNumber(budget.held),
  left: creditsToNumber(leftOfCap(budget)),
});
