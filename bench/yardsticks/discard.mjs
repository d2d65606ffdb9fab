// The limit of any exporter in Node: undici fetches the same pages one after the other and throws the bodies away.
// usage: discard.mjs BASE_URL KEY PAGES PER_PAGE
import { Pool } from "undici";

const [baseUrl, key, pages, perPage] = process.argv.slice(2);
const pool = new Pool(new URL(baseUrl).origin, { connections: 1, pipelining: 1 });
const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
for (let page = 1; page <= Number(pages); page++) {
  const body = JSON.stringify({
    filters: { department: "Sales" },
    page,
    per_page: Number(perPage),
  });
  const reply = await pool.request({ method: "POST", path: "/v1/person/search", headers, body });
  if (reply.statusCode !== 200) throw new Error(`page ${page}: status ${reply.statusCode}`);
  for await (const _chunk of reply.body);
}
await pool.close();
