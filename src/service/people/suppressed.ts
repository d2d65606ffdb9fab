import { join } from "node:path";
import type { Engine, RecordPage } from "../../dataset/engine.ts";
import { fileStamp } from "../../dataset/stamp.ts";
import { readHiddenPeople, readLeftOut } from "../../dataset/suppression.ts";
import {
  NOBODY_SUPPRESSED,
  type RecordNames,
  SUPPRESSION_FILES,
  type Suppression,
} from "../../shared/contract/suppression.ts";
import { isNested, type JsonValue, parseExact, stringifyExact } from "../../shared/rows/values.ts";
import type { StoredReply } from "../ledger/records.ts";

/** How many of a page's people were left out of it (docs/reference/contract.md, Idempotency). */
export const LEFT_OUT = "x-suppressed-count";

const textOf = (value: JsonValue | undefined): string | undefined =>
  typeof value === "string" ? value : undefined;

function namedIn(record: JsonValue): RecordNames | undefined {
  if (!isNested(record)) return undefined;
  const { company_domain: domain, id, network_url: address } = record;
  if (!Object.hasOwn(record, "network_url")) return undefined;
  return { id: textOf(id), address: textOf(address), domain: textOf(domain) };
}

export function peopleIn({ body }: StoredReply): RecordNames[] {
  const envelope = parseExact(body.toString());
  if (!isNested(envelope) || !Array.isArray(envelope.result)) return [];
  return envelope.result.flatMap((record: JsonValue) => namedIn(record) ?? []);
}

/** A page's reply without whom `hides` names, and how many that were. What was charged stays. */
export function leaveOutSuppressed(
  reply: StoredReply,
  hides: (who: RecordNames) => boolean,
): StoredReply {
  const envelope = parseExact(reply.body.toString());
  if (!isNested(envelope) || !Array.isArray(envelope.result)) return reply;

  const people: readonly JsonValue[] = envelope.result;
  const visible = people.filter((record) => {
    const who = namedIn(record);
    return who === undefined || !hides(who);
  });
  if (visible.length === people.length) return reply;

  const before = Number(reply.headers[LEFT_OUT] ?? 0);
  return {
    status: reply.status,
    headers: { ...reply.headers, [LEFT_OUT]: String(before + people.length - visible.length) },
    body: stringifyExact({ ...envelope, result: visible }),
  };
}

/**
 * The stamp of no file, and not that of a file that is
 * gone: a key without its list is a list that was lost.
 */
const UNREAD = "unread";

/**
 * The list of people of a data folder, as it is at each
 * call: whoever is added is in no answer from then on.
 */
export class SuppressedPeople {
  readonly #folder: string | undefined;
  #last = UNREAD;
  #reading: Promise<Suppression> = Promise.resolve(NOBODY_SUPPRESSED);

  /** @param folder undefined where nobody can be suppressed */
  constructor(folder: string | undefined) {
    this.#folder = folder;
  }

  async shown(reply: StoredReply): Promise<StoredReply> {
    const { list } = await this.#current();
    return list.isEmpty ? reply : leaveOutSuppressed(reply, (who) => list.hides(who));
  }

  /**
   * The engine with pages that have nobody of the list,
   * also before the dataset is built again without them.
   */
  over(engine: Engine, datasetDir: string): Engine {
    if (this.#folder === undefined) return engine;

    const isWithout = cleanVersions(datasetDir);
    const filtered = async (page: RecordPage): Promise<RecordPage> => {
      const { list, stamp } = await this.#current();
      if (list.isEmpty || page.records.length === 0) return page;
      return (await isWithout(list, stamp, engine.info().version)) ? page : without(list, page);
    };

    return {
      looksUp: engine.looksUp,
      info: () => engine.info(),
      current: async () => engine.current?.(),
      count: (filters) => engine.count(filters),
      facet: (filters, question, limitMs) => engine.facet(filters, question, limitMs),
      people: async (filters, slice) => filtered(await engine.people(filters, slice)),
      company: (lookup) => engine.company(lookup),
      employees: async (companyId, slice) => filtered(await engine.employees(companyId, slice)),
      verify: () => engine.verify(),
      close: () => engine.close(),
    };
  }

  /** @throws InputError where the list is damaged: nobody is shown then rather than too many */
  async #current(): Promise<{ readonly list: Suppression; readonly stamp: string }> {
    if (this.#folder === undefined) return { list: NOBODY_SUPPRESSED, stamp: UNREAD };

    const stamp = fileStamp(join(this.#folder, SUPPRESSION_FILES.list));
    if (stamp !== this.#last) {
      this.#last = stamp;
      this.#reading = readHiddenPeople(this.#folder);
      // Looked at again by the next call, and by no call taken for good.
      this.#reading.catch(() => {
        this.#last = UNREAD;
      });
    }

    return { list: await this.#reading, stamp };
  }
}

/** Whether a version was built without anybody of a list, asked once of each. */
function cleanVersions(datasetDir: string) {
  let known = { stamp: UNREAD, version: "" };

  return async (list: Suppression, stamp: string, version: string): Promise<boolean> => {
    if (known.stamp === stamp && known.version === version) return true;
    const built = await readLeftOut(datasetDir);
    const isClean =
      built?.version === version && [...list.marks].every((mark) => built.marks.has(mark));
    // A build notes it just before its version is there: what was not clean is looked at again.
    if (isClean) known = { stamp, version };
    return isClean;
  };
}

function without(list: Suppression, page: RecordPage): RecordPage {
  const leftOut = [...page.records.keys()].filter((at) => {
    const who = namedIn(parseExact(String(page.records[at])));
    return who !== undefined && list.hides(who);
  });

  return {
    records: page.records.filter((_, at) => !leftOut.includes(at)),
    total: page.total,
    leftOut,
  };
}
