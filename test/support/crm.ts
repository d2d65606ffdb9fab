import { createServer } from "node:http";
import { text } from "node:stream/consumers";

type Fields = Record<string, unknown>;

/** The little of HubSpot and Salesforce that docs/recipes/to-crm.mjs calls, by their documents. */
export async function startCrm(external: string, existing: readonly Fields[]) {
  const records = new Map(
    existing.map((one, at) => [String(one[external]), { Id: `id${at}`, ...one }]),
  );
  const seen: string[] = [];
  /** Answers with these statuses first. */
  const failing: number[] = [];
  let refused: string | undefined;

  const merge = (key: string, fields: Fields): void => {
    const before = records.get(key) ?? { Id: `id${records.size}` };
    records.set(key, { ...before, ...fields });
  };

  function salesforce(one: Fields): Fields {
    const { attributes: _, Id, ...fields } = one;
    const [key] = [...records].find(([, record]) => record.Id === Id) ?? [String(fields[external])];
    if (key === refused) return { success: false, errors: [{ message: "REQUIRED_FIELD_MISSING" }] };
    merge(key, fields);
    return { id: records.get(key)?.Id, success: true, errors: [] };
  }

  function answer(url: URL, body: { inputs?: Fields[]; records?: Fields[] }): unknown {
    if (url.pathname.endsWith("/query")) {
      const keys = [...(url.searchParams.get("q") ?? "").matchAll(/'((?:\\.|[^'])*)'/g)];
      return {
        records: keys.flatMap(([, key = ""]) => records.get(key.replace(/\\(.)/g, "$1")) ?? []),
      };
    }
    if (body.records !== undefined) return body.records.map(salesforce);

    const inputs = body.inputs ?? [];
    if (url.pathname.endsWith("/batch/read"))
      return {
        results: inputs.flatMap(({ id }) => {
          const properties = records.get(String(id));
          return properties === undefined ? [] : [{ properties }];
        }),
      };
    for (const { id, properties } of inputs) merge(String(id), properties as Fields);
    return { results: [] };
  }

  const server = createServer(async (request, response) => {
    const url = new URL(request.url ?? "/", "http://crm");
    const body = await text(request);
    seen.push(`${request.method} ${url.pathname}`);
    const status = failing.shift() ?? (request.headers.authorization === "Bearer t" ? 200 : 401);
    // A reply that is lost after the work was done: the recipe asks again.
    const said = status === 401 ? {} : answer(url, body === "" ? {} : JSON.parse(body));
    response.writeHead(status, { "retry-after": "0" }).end(JSON.stringify(said));
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
    close: () => new Promise((done) => server.close(done)),
  };
}
