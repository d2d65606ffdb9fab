import { createServer } from "node:http";
import { text } from "node:stream/consumers";

type Fields = Record<string, unknown>;

const fold = (key: unknown): string => String(key).toLowerCase();

/**
 * The little of HubSpot and Salesforce that docs/recipes/to-crm.mjs calls, by their documents.
 * Keys are unique whatever their case, as in both.
 */
export async function startCrm(external: string, existing: readonly Fields[]) {
  const records = new Map(
    existing.map((one, at) => [fold(one[external]), { Id: `id${at}`, ...one } as Fields]),
  );
  const seen: string[] = [];
  /** Answers with these statuses first. */
  const failing: number[] = [];
  let refused: string | undefined;
  /** What happens between a look and what is sent next. */
  let meanwhile: (() => void) | undefined;

  const byId = (id: unknown): string | undefined =>
    [...records].find(([, record]) => record.Id === id)?.[0];

  const merge = (key: string, fields: Fields): void => {
    const before = records.get(key) ?? { Id: `id${records.size}` };
    records.set(key, { ...before, ...fields });
  };

  function salesforce(method: string, one: Fields): Fields {
    const { attributes: _, Id, ...fields } = one;
    const key = byId(Id) ?? fold(fields[external]);
    const error =
      key === refused
        ? "REQUIRED_FIELD_MISSING"
        : method === "POST" && records.has(key)
          ? "DUPLICATE_VALUE"
          : undefined;
    if (error !== undefined) return { success: false, errors: [{ message: error }] };
    merge(key, fields);
    return { id: records.get(key)?.Id, success: true, errors: [] };
  }

  /** A batch that has one bad record is refused whole, but for `upsert`, which says which. */
  function hubspot(verb: string, inputs: readonly Fields[]): readonly [number, unknown] {
    const keyed = inputs.map(({ id, properties, objectWriteTraceId }) => {
      const fields = properties as Fields;
      const key = verb === "update" ? byId(id) : fold(fields[external]);
      return { key: key ?? "", fields, trace: objectWriteTraceId };
    });
    const isBad = ({ key }: { readonly key: string }): boolean =>
      key === refused || (verb === "create" && records.has(key));

    const bad = keyed.filter(isBad);
    if (bad.length > 0 && verb !== "upsert") return [409, { message: "CONFLICT" }];
    for (const { key, fields } of keyed) if (key !== refused) merge(key, fields);
    if (bad.length === 0) return [200, { results: [] }];
    const errors = bad.map(({ trace }) => ({
      message: "REQUIRED_FIELD_MISSING",
      context: { objectWriteTraceId: [trace] },
    }));
    return [207, { results: [], numErrors: errors.length, errors }];
  }

  function answer(
    method: string,
    url: URL,
    body: { inputs?: Fields[]; records?: Fields[] },
  ): readonly [number, unknown] {
    if (url.pathname.endsWith("/query")) {
      const keys = [...(url.searchParams.get("q") ?? "").matchAll(/'((?:\\.|[^'])*)'/g)];
      const found = keys.flatMap(
        ([, key = ""]) => records.get(fold(key.replace(/\\(.)/g, "$1"))) ?? [],
      );
      return [200, { records: found }];
    }
    if (url.pathname.endsWith("/batch/read")) {
      const results = (body.inputs ?? []).flatMap(({ id }) => {
        const properties = records.get(fold(id));
        return properties === undefined ? [] : [{ id: properties.Id, properties }];
      });
      return [200, { results }];
    }
    meanwhile?.();
    if (body.records !== undefined)
      return [200, body.records.map((one) => salesforce(method, one))];
    return hubspot(url.pathname.split("/").at(-1) ?? "", body.inputs ?? []);
  }

  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? "/", "http://crm");
    const body = await text(request);
    seen.push(`${request.method} ${url.pathname}`);
    const mayAsk = request.headers.authorization === "Bearer t";
    const failure = failing.shift() ?? (mayAsk ? undefined : 401);
    // A reply that is lost after the work was done: the recipe asks again.
    const [status, said] =
      failure === 401
        ? [401, {}]
        : answer(request.method ?? "GET", url, body === "" ? {} : JSON.parse(body));
    response.writeHead(failure ?? status, { "retry-after": "0" }).end(JSON.stringify(said));
  });
  await new Promise<void>((go) => server.listen(0, "127.0.0.1", go));
  const address = server.address() as { readonly port: number };
  return {
    url: `http://127.0.0.1:${address.port}`,
    records,
    seen,
    failing,
    refuse: (key: string | undefined) => {
      refused = key;
    },
    beforeSending: (act: () => void) => {
      meanwhile = act;
    },
    close: () => new Promise((done) => server.close(done)),
  };
}
