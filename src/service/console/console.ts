import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { parseStrictJson } from "../../shared/contract/strict-json.ts";
import type { Admission } from "../http/admission.ts";
import { addressOf } from "../http/connections.ts";
import { queryText } from "../http/requests.ts";
import { Problem, problemOf } from "../problem.ts";
import { ACCOUNT_ENDPOINTS } from "./account.ts";
import { type Asset, assetFrom } from "./assets.ts";
import { bad, byOf, type ConsoleEndpoint, type ConsoleParts } from "./call.ts";
import { Exports, type ExportsOptions } from "./exports.ts";
import { addExportFiles, type ExportFile, FILE_ENDPOINTS } from "./files.ts";
import { CONSOLE_HEADERS, ConsoleRefusal, consoleGuard } from "./guard.ts";
import { OWNED_ENDPOINTS } from "./owned.ts";
import { SAVED_ENDPOINTS } from "./saved.ts";
import { SEGMENT_ENDPOINTS } from "./segment.ts";
import { Sessions } from "./sessions.ts";

const JSON_TYPE = "application/json; charset=utf-8";
const ENDPOINTS: readonly ConsoleEndpoint[] = [
  ...SEGMENT_ENDPOINTS,
  ...ACCOUNT_ENDPOINTS,
  ...FILE_ENDPOINTS,
  ...OWNED_ENDPOINTS,
  ...SAVED_ENDPOINTS,
];

type Open = () => ConsoleParts;

type ConsoleSetting = Omit<ConsoleParts, "sessions" | "exports" | "origin" | "guard"> &
  Pick<ExportsOptions, "onFault"> & {
    readonly admission: Admission;
    readonly host: string;
    readonly publicUrl: string | undefined;
    readonly scheme: "http" | "https";
  };

export type ServedConsole = ReturnType<typeof serveConsole>;

export function serveConsole(app: FastifyInstance, setting: ConsoleSetting) {
  let opened: ConsoleParts | undefined;
  const open = (): ConsoleParts => {
    opened ??= partsOf(setting, (app.server.address() as AddressInfo).port);
    return opened;
  };
  addConsole(app, open, setting.onFault);
  addExportFiles(app, setting.admission, open);
  return { origin: () => open().origin, close: async () => opened?.exports.close() };
}

function partsOf(setting: ConsoleSetting, port: number): ConsoleParts {
  const { host, limiter, now, publicUrl, scheme, store } = setting;
  const origin =
    publicUrl === undefined ? addressOf(host, port, scheme) : new URL(publicUrl).origin;
  const sessions = new Sessions({ store, limiter, now, port, secure: origin.startsWith("https:") });
  const guard = consoleGuard({ host, port, publicUrl, scheme });
  return { ...setting, sessions, exports: new Exports(setting), origin, guard };
}

/**
 * Adds the console below `/console`: page, files and its
 * own API (docs/operate/console.md). Nothing of it is below `/v1`.
 */
function addConsole(app: FastifyInstance, opened: Open, onFault: ConsoleSetting["onFault"]): void {
  app.register(
    async (scope) => {
      scope.setErrorHandler((error, request, reply) => sendError(error, request, reply, onFault));
      scope.addHook("onRequest", async (request, reply) => {
        reply.headers(CONSOLE_HEADERS);
        const { guard } = opened();
        guard.checkHost(request.headers);
        if (request.routeOptions.url?.startsWith("/console/api/") !== true) return;
        guard.checkSender(request.method, request.headers);
        if (request.method !== "GET") guard.checkType(request.headers);
      });
      addSignIn(scope, opened);
      for (const endpoint of ENDPOINTS) addEndpoint(scope, endpoint, opened);

      scope.all("/api/*", () => {
        throw new ConsoleRefusal(404, "no_route", "the console has no such call");
      });

      // HEAD is answered as GET, without the body.
      const shows = (url: string, handler: Shown) =>
        scope.route({ method: ["GET", "HEAD"], url, handler });

      shows("/assets/:name", async (request, reply) => {
        const { name } = request.params as { readonly name: string };
        return await sendAsset(
          reply,
          await assetFrom(name, request.headers["accept-encoding"]),
          IMMUTABLE,
        );
      });

      const page = async (request: FastifyRequest, reply: FastifyReply) =>
        await sendAsset(
          reply,
          await assetFrom("index.html", request.headers["accept-encoding"]),
          "no-cache",
        );

      shows("/", page);
      shows("/enter", page);
    },
    { prefix: "/console" },
  );
}

type Shown = (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>;

const IMMUTABLE = "public, max-age=31536000, immutable";

async function sendAsset(
  reply: FastifyReply,
  asset: Asset | undefined,
  cache: string,
): Promise<FastifyReply> {
  if (asset === undefined) throw new ConsoleRefusal(404, "no_file", "there is no such file");
  return reply
    .headers({ ...asset.headers, "cache-control": cache, vary: "accept-encoding" })
    .send(asset.body);
}

function addSignIn(scope: FastifyInstance, opened: Open): void {
  scope.post("/api/session", async (request, reply) => {
    const { sessions } = opened();
    const { key, link } = bodyOf(request);
    const address = request.raw.socket.remoteAddress ?? "";
    if (typeof link !== "string" && typeof key !== "string") throw bad("send a link or a key");
    const login =
      typeof link === "string"
        ? await sessions.byLink(link, address)
        : await sessions.byKey(String(key), address);
    return answer(reply.header("set-cookie", login.cookie), { proof: login.proof });
  });

  scope.delete("/api/session", async (request, reply) => {
    const { sessions } = opened();
    const visitor = await sessions.visitor(request.headers, proofOf(request));
    await sessions.end(visitor.session.id, byOf(visitor));
    return answer(reply.header("set-cookie", sessions.farewell), { ended: true });
  });
}

function addEndpoint(
  scope: FastifyInstance,
  { method, path, roles, run }: ConsoleEndpoint,
  opened: Open,
): void {
  scope.route({
    method,
    url: `/api${path}`,

    handler: async (request, reply) => {
      const parts = opened();
      const visitor = await parts.sessions.visitor(request.headers, proofOf(request));
      if (!roles.includes(visitor.session.role)) {
        const may = `only an ${roles.join(" or ")} may do that`;
        throw new ConsoleRefusal(
          403,
          "not_allowed",
          `this session is a ${visitor.session.role}'s; ${may}`,
        );
      }

      const query = new URLSearchParams(queryText(request));
      const params = request.params as Readonly<Record<string, string>>;
      const body = method === "GET" ? {} : bodyOf(request);
      const result = await run({ visitor, body, query, params, parts });
      return isFile(result)
        ? reply.headers(result.headers).send(result.rows)
        : answer(reply, result);
    },
  });
}

const isFile = (result: unknown): result is ExportFile =>
  result instanceof Object && "rows" in result && result.rows instanceof Readable;

const proofOf = ({ headers }: FastifyRequest): string | undefined => {
  const proof = headers["x-console-proof"];
  return typeof proof === "string" ? proof : undefined;
};

function bodyOf({ body }: FastifyRequest): Readonly<Record<string, unknown>> {
  if (!Buffer.isBuffer(body) || body.length === 0) return {};
  const json = parseStrictJson(body);
  if (!json.ok) throw bad(json.message);
  const { value } = json;
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw bad("the body is a JSON object");
  return value as Readonly<Record<string, unknown>>;
}

const answer = (reply: FastifyReply, value: unknown): FastifyReply =>
  reply
    .headers({ "content-type": JSON_TYPE, "cache-control": "no-store" })
    .send(JSON.stringify(value));

function sendError(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  onFault: ConsoleSetting["onFault"],
): FastifyReply {
  const problem = problemOf(error);
  const { detail, headers, status } = problem;
  if (status >= 500 && !(error instanceof Problem)) onFault(request.id, error);
  const { code, issues } =
    problem instanceof ConsoleRefusal ? problem : { code: `status_${status}` };
  reply.headers({ ...CONSOLE_HEADERS, ...headers });
  return answer(reply.code(status), { error: detail.join("; "), code, issues });
}
