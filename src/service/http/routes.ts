import type { FastifyInstance, FastifyRequest } from "fastify";
import { envelopeJson } from "../../shared/contract/envelope.ts";
import { creditsToNumber } from "../../shared/contract/money.ts";
import { noticesOf } from "../../shared/contract/unmatched.ts";
import type { KeyResult } from "../../shared/schema/api.ts";
import { onOneVersion } from "../admin/datasets.ts";
import { timeOf } from "../ledger/clock.ts";
import { type KeyBudget, type KeyDetail, leftOfCap } from "../ledger/ledger.ts";
import { accountBody } from "../money/account.ts";
import { Problem } from "../problem.ts";
import type { Answer } from "./call.ts";
import { API_ROUTES, type CallName } from "./calls.ts";
import {
  admitted,
  askerOf,
  type Endpoint,
  freeAnswer,
  freeMagic,
  type RouteOptions,
  sell,
} from "./endpoint.ts";
import { magicOfCompany } from "./magic.ts";
import { boughtPage } from "./paging.ts";
import { send } from "./reply.ts";
import {
  companyParameter,
  jsonBody,
  queryText,
  readCount,
  readCounts,
  readEmployees,
  readEnrich,
  readFacets,
  readSearch,
  refuseQuery,
} from "./requests.ts";
import { countPeople, facetPeople, inFreeTurn, searchOrder, unmatchedOf } from "./sale.ts";

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
  const { canonical, filters, sent } = readCount(jsonBody(request));
  await freeMagic(request, options, filters);

  const asker = askerOf(request);
  const counted = await countPeople(asker, options, { canonical, filters });
  const told = await unmatchedOf(asker, options, { ...counted, canonical }, sent);
  const unmatched = told === undefined ? "" : `,"unmatched":${JSON.stringify(told)}`;
  const result =
    `{"count":${counted.count},"cached":${counted.cached},` +
    `"as_of":"${counted.asOf}"${unmatched}}`;
  const notices = told && noticesOf(sent, counted.count, told);
  return freeAnswer(request, options, { result, version: counted.version, notices });
}

async function facets(request: FastifyRequest, options: RouteOptions): Promise<Answer> {
  refuseQuery(queryText(request));
  const { account } = admitted(request);
  const question = readFacets(jsonBody(request), account.plan.smallCounts);
  await freeMagic(request, options, question.filters);

  const { facet, version } = await facetPeople(askerOf(request), options, question);
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

  const { numbers, version } = await inFreeTurn(askerOf(request), options, work);
  for (const [at, { canonical: segment }] of each.entries()) {
    options.smallCounts.tell(key, account.plan, { segment, count: numbers[at] ?? 0 });
  }

  const result = JSON.stringify({ counts: numbers, as_of: timeOf(options.now()) });
  return freeAnswer(request, options, { result, version });
}

async function search(request: FastifyRequest, options: RouteOptions): Promise<Answer> {
  refuseQuery(queryText(request));
  const { paging, ...segment } = readSearch(jsonBody(request), options.maxDepth);
  return sell(request, options, searchOrder(askerOf(request), options, segment, paging));
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

const companyMiss = (lookup: { readonly by: string; readonly value: string }): Problem =>
  new Problem(404, [`no company matches ${lookup.by} ${lookup.value.slice(0, 64)}`]);

/** What the key that asks may do (docs/reference/contract-keys.md, Keys). */
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
