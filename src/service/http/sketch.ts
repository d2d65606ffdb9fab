import type { FastifyRequest } from "fastify";
import { listOf } from "../../shared/contract/envelope.ts";
import { PER_PAGE_MAX } from "../../shared/contract/records.ts";
import { SKETCH_CELLS_MAX, SKETCH_PEOPLE_MAX } from "../../shared/contract/sketch.ts";
import { onOneVersion } from "../admin/datasets.ts";
import type { Store, StoredKey } from "../ledger/ledger.ts";
import { idOf } from "../people/ids.ts";
import { cellsOf, recordsAt } from "../people/sketches.ts";
import { LEFT_OUT } from "../people/suppressed.ts";
import { invalid } from "../problem.ts";
import type { Answer } from "./call.ts";
import { admitted, askerOf, freeAnswer, type RouteOptions, sell } from "./endpoint.ts";
import { magicOfFilters } from "./magic.ts";
import {
  bodyFields,
  jsonBody,
  queryText,
  readSegment,
  readWithin,
  refuseQuery,
} from "./requests.ts";
import { inFreeTurn } from "./sale.ts";

/** More cells than any difference of so many people takes. */
const FIRST_CELL_MAX = 4 * SKETCH_PEOPLE_MAX;

function readSketch(body: Uint8Array) {
  const fields = bodyFields(body, ["filters", "from", "cells"]);
  const from = readWithin(fields, "from", 0, [0, FIRST_CELL_MAX]);
  const cells = readWithin(fields, "cells", 128, [1, SKETCH_CELLS_MAX]);
  return { ...readSegment(fields), from, cells };
}

function readPeople(body: Uint8Array) {
  const fields = bodyFields(body, ["filters", "digests"]);
  const list = fields.get("digests");
  const digests = Array.isArray(list)
    ? list.filter((each) => /^[0-9a-f]{16}$/.test(String(each))).map(String)
    : [];
  if (
    !Array.isArray(list) ||
    digests.length < list.length ||
    digests.length < 1 ||
    digests.length > PER_PAGE_MAX
  ) {
    throw invalid(
      `digests is required: 1 to ${PER_PAGE_MAX} texts of 16 hexadecimal digits, in lower case`,
    );
  }
  if (new Set(digests).size < digests.length)
    throw invalid("a digest is given twice: each person is sold once");

  return { ...readSegment(fields), digests };
}

const CELLS_A_CALL = 1_000;
const PEOPLE_A_CALL = 10_000;

/**
 * Who of one's own people is in a segment, and digests
 * of the others (docs/reference/contract-keys.md, Sketches).
 */
export async function sketch(request: FastifyRequest, options: RouteOptions): Promise<Answer> {
  refuseQuery(queryText(request));
  const { cells, filters, from, canonical } = readSketch(jsonBody(request));
  const { account, key } = admitted(request);
  const { admission, smallCounts, store } = options;
  const { counts, engine, sketches } = await options.dataset(key.mode);
  const whose = await digestKey(store, key);
  const segment = { canonical, filters };

  const work = () =>
    onOneVersion(engine, async (version) => {
      const { count } = await counts.count(filters, canonical, account.id);
      smallCounts.tellSketch(key, account.plan, { segment: canonical, version, count });
      const isKnown = sketches.recall(version, segment, whose) !== undefined;
      const weight =
        Math.ceil(cells / CELLS_A_CALL) - 1 + (isKnown ? 0 : Math.floor(count / PEOPLE_A_CALL));
      admission.weigh(request.call, filters, 0, weight);
      const roster = await sketches.list(engine, segment, whose);
      return { version, roster, part: await cellsOf(roster, from, from + cells) };
    });

  const { roster, part, version } = await inFreeTurn(askerOf(request), options, work);
  const result = JSON.stringify({
    count: roster.places.size,
    key: roster.key,
    from,
    cells: String(part),
    as_of: new Date(options.now()).toISOString(),
  });
  return freeAnswer(request, options, { result, version });
}

/**
 * A key that was rotated has the digests of the one that
 * it came from: what was read out can still be bought.
 */
const digestKey = async (store: Store, { hash, id, origin }: StoredKey): Promise<string> =>
  origin === id ? hash : ((await store.key(origin))?.hash ?? hash);

/**
 * Sells people of a segment by the digests of a
 * sketch. Who is not there any more is left out, free.
 */
export async function people(request: FastifyRequest, options: RouteOptions): Promise<Answer> {
  refuseQuery(queryText(request));
  const { account, key } = admitted(request);
  const { canonical, digests, filters } = readPeople(jsonBody(request));

  return sell(request, options, {
    costed: "person_search",
    rows: digests.length,
    identity: `${canonical}\n${digests.join()}`,
    magic: () => magicOfFilters(filters, true),

    async work({ engine, sketches }, version) {
      const { places } = await sketches.list(
        engine,
        { filters, canonical },
        await digestKey(options.store, key),
      );
      const positions = digests.flatMap((digest) => places.get(digest) ?? []);
      const result = await recordsAt(engine, filters, positions);
      const missing = digests.length - result.length;

      if (result.length === 0) {
        options.smallCounts.tell(key, account.plan, {
          segment: `${canonical}\n${digests.join()}`,
          count: 0,
        });
        options.admission.weigh(request.call, filters, 0, digests.length - 1);
      }

      const headers: Record<string, string> = { "x-dataset-version": version };
      if (missing > 0) headers[LEFT_OUT] = String(missing);

      const people = result.map(idOf);
      return { rows: result.length, result: listOf(result), headers, people };
    },
  });
}
