import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Engine } from "../dataset/engine.ts";
import type { Store } from "./ledger/ledger.ts";
import type { ReferenceFile } from "./reference/page.ts";

export interface PublicPageOptions {
  readonly engine: Engine;
  readonly store: Pick<Store, "account">;
  readonly notFound: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;
}

const SECURITY = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
} as const;

/** The routes outside `/v1`: open to all, without records and without accounts. */
export function addPublicPages(app: FastifyInstance, options: PublicPageOptions): void {
  let documentText: Promise<string> | undefined;
  let files: Promise<{ policy: string; byPath: Map<string, ReferenceFile> }> | undefined;

  app.get("/healthz", async (_request, reply) => {
    const { version } = options.engine.info();
    const answers = await options.store.account("default").then(
      () => true,
      () => false,
    );
    return reply
      .code(answers ? 200 : 503)
      .headers({ ...SECURITY, "content-type": "application/json; charset=utf-8", "cache-control": "no-store" })
      .send(JSON.stringify({ status: answers ? "ok" : "the accounts do not answer", dataset_version: version }));
  });

  app.get("/openapi.json", async (_request, reply) => {
    documentText ??= import("../contract/openapi/document.ts").then(({ openApiText }) => openApiText());
    return reply
      .headers({
        ...SECURITY,
        "content-type": "application/json; charset=utf-8",
        "cache-control": "public, max-age=300",
      })
      .send(await documentText);
  });

  app.get("/docs", (request, reply) => sendFile("/docs", request, reply));
  app.get("/docs/*", (request, reply) => sendFile(request.url.split("?", 1)[0] ?? "", request, reply));

  async function sendFile(path: string, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    files ??= import("./reference/page.ts").then(({ REFERENCE_CSP, referencePage }) => ({
      policy: REFERENCE_CSP,
      byPath: new Map(referencePage().map((file) => [file.path, file])),
    }));
    const { byPath, policy } = await files;
    const file = byPath.get(path);
    if (file === undefined) return options.notFound(request, reply);
    return reply
      .headers({
        ...SECURITY,
        "content-type": file.contentType,
        "content-security-policy": policy,
        "cache-control": "public, max-age=300",
      })
      .send(file.body);
  }
}
