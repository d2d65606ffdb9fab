import { hash } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Engine } from "../../dataset/engine.ts";
import type { Store } from "../ledger/ledger.ts";
import { within } from "../problem.ts";
import { encodeBody } from "./reply.ts";

interface PublicPageOptions {
  /** The address that customers use, in every page; default: the one that a request was sent to. */
  readonly publicUrl: string | undefined;
  readonly engine: Engine;
  readonly store: Pick<Store, "balance" | "probe">;
  readonly notFound: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;
}

interface Page {
  readonly body: string;
  readonly contentType: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const SECURITY = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
} as const;
const JSON_TYPE = "application/json; charset=utf-8";
const HEALTH_MS = 2_000;
const WELL_MS = 1_000;
const METHODS = "GET, HEAD, OPTIONS";

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

/**
 * The routes outside `/v1`: open to all, without records
 * and accounts. HEAD is answered as GET, without the body.
 */
export function addPublicPages(
  app: FastifyInstance,
  { engine, notFound, publicUrl, store }: PublicPageOptions,
): void {
  const add = (url: string, handler: Handler): void => {
    app.route({ method: ["GET", "HEAD"], url, handler });
    app.options(url, (_request, reply) =>
      reply
        .code(204)
        .headers({ ...SECURITY, allow: METHODS })
        .send(),
    );
  };

  const says = (reply: FastifyReply, status: string): FastifyReply =>
    reply
      .code(status === "ok" ? 200 : 503)
      .headers({ ...SECURITY, "content-type": JSON_TYPE, "cache-control": "no-store" })
      .send(JSON.stringify({ status, dataset_version: engine.info().version }));

  add("/livez", async (_request, reply) => says(reply, "ok"));

  const isUnwell = illness(engine, store);
  for (const url of ["/healthz", "/readyz"]) {
    add(url, async (_request, reply) => says(reply, (await isUnwell()) ?? "ok"));
  }

  const front: Handler = async (request, reply) => {
    if (!/\btext\/html\b/.test(request.headers.accept ?? "")) return notFound(request, reply);
    const headers = {
      "content-security-policy": "default-src 'none'; style-src 'self'; img-src 'self'",
      vary: "accept, accept-encoding",
    };
    return sendPage(request, reply, {
      body: FRONT,
      contentType: "text/html; charset=utf-8",
      headers,
    });
  };
  app.route({ method: ["GET", "HEAD"], url: "/", handler: front });

  addReference(add, { notFound, publicUrl });
}

/** What describes the API: for programs, and for who reads. */
function addReference(
  add: (url: string, handler: Handler) => void,
  { notFound, publicUrl }: Pick<PublicPageOptions, "notFound" | "publicUrl">,
): void {
  let documentText: Promise<string> | undefined;
  add("/openapi.json", async (request, reply) => {
    documentText ??= import("../../shared/openapi/document.ts").then(({ openApiText }) =>
      openApiText(),
    );
    // Nothing in it is secret, and a browser's tools of any origin may want it.
    const headers = { "access-control-allow-origin": "*" };
    return sendPage(request, reply, { body: await documentText, contentType: JSON_TYPE, headers });
  });

  let reference: Promise<typeof import("../reference/page.ts")> | undefined;
  const sendReference: Handler = async (request, reply) => {
    reference ??= import("../reference/page.ts");
    const { REFERENCE_CSP, referenceFile } = await reference;
    const said = publicUrl && new URL(publicUrl).origin;
    const path = request.url.split("?", 1)[0] ?? "";
    const file = referenceFile(path, said ?? baseOf(request));
    if (file === undefined) return notFound(request, reply);

    return sendPage(request, reply, {
      ...file,
      headers: {
        "content-security-policy": REFERENCE_CSP,
        // What names the request's own Host is not to be kept for others, who may have sent that.
        ...(said === undefined && { "cache-control": "private, max-age=300" }),
      },
    });
  };

  for (const url of ["/docs", "/docs/*", "/favicon.ico", "/llms.txt"]) add(url, sendReference);
}

const FRONT = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" \
content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>headcount</title>
<link rel="icon" type="image/svg+xml" href="docs/icon.svg">
<link rel="stylesheet" href="docs/reference.css">
<body class="front"><main><h1>headcount</h1><p>This is the API of a headcount service.</p>
<ul><li><a href="console"><strong>Console</strong> Count a segment, see its price, buy it</a></li>
<li><a href="docs"><strong>Reference of the API</strong> Five calls, for programs</a></li></ul>
</main></body></html>
`;

/**
 * What keeps the service from selling a page; undefined
 * where nothing does. What fails is asked anew each time.
 */
function illness(
  engine: Engine,
  store: PublicPageOptions["store"],
): () => Promise<string | undefined> {
  let well = Number.NEGATIVE_INFINITY;
  const asks = async (work: () => Promise<unknown>, what: string): Promise<string | undefined> =>
    within(work(), HEALTH_MS).then(
      () => undefined,
      () => what,
    );

  return async () => {
    const accounts = asks(() => store.balance("default", "live"), "the accounts do not answer");
    if (engine.damage?.length) return "the dataset is damaged";
    if (performance.now() - well < WELL_MS) return accounts;
    const checks = await Promise.all([
      accounts,
      asks(() => store.probe(), "the accounts take no changes"),
      asks(() => engine.count({ exact: {}, prefix: {}, range: {} }), "the dataset does not answer"),
    ]);
    const ill = checks.find((each) => each !== undefined);
    if (ill === undefined) well = performance.now();
    return ill;
  };
}

/**
 * The address that the request was sent to, to be shown
 * in examples. A Host that is none is not repeated.
 */
function baseOf({ headers, raw }: FastifyRequest): string {
  const { host } = headers;
  const { localAddress, localPort } = raw.socket;
  const plain =
    host !== undefined && /^(?:\[[0-9a-f:.]+\]|[a-z0-9._-]{1,253})(?::\d{1,5})?$/i.test(host);
  const scheme =
    headers["x-forwarded-proto"] === "https" || "encrypted" in raw.socket ? "https" : "http";
  return `${scheme}://${plain ? host : `${localAddress ?? "127.0.0.1"}:${localPort ?? 0}`}`;
}

async function sendPage(
  request: FastifyRequest,
  reply: FastifyReply,
  page: Page,
): Promise<FastifyReply> {
  // Weak: the same for every encoding of the page.
  const etag = `W/"${hash("sha256", page.body, "base64url").slice(0, 22)}"`;
  reply.headers({ ...SECURITY, "cache-control": "public, max-age=300", ...page.headers, etag });
  const tags = (request.headers["if-none-match"] ?? "")
    .split(",")
    .map((tag) => tag.trim().replace(/^(?!W\/|\*)/, "W/"));
  if (tags.includes(etag) || tags.includes("*"))
    return reply.code(304).header("vary", "accept-encoding").send();
  const { body, headers } = await encodeBody(request.headers["accept-encoding"], page.body);
  return reply.headers({ ...headers, "content-type": page.contentType }).send(body);
}
