// A Fastify server that does nothing but answer: the most any route on it can reach. Prints its address as one line of JSON.
// The bodies are as long as our own answers, so that the same number of bytes goes over the wire.
import Fastify from "fastify";

const accountBytes = Number(process.argv[2] ?? 600);
const countBytes = Number(process.argv[3] ?? 150);
const filler = (length) =>
  JSON.stringify({ status: true, filler: "x".repeat(Math.max(0, length - 27)) });
const account = filler(accountBytes);
const count = filler(countBytes);
const app = Fastify();
app.get("/v1/account", (_request, reply) =>
  reply.type("application/json; charset=utf-8").send(account),
);
app.post("/v1/person/count", (_request, reply) =>
  reply.type("application/json; charset=utf-8").send(count),
);
const url = await app.listen({ host: "127.0.0.1", port: 0 });
process.stdout.write(`${JSON.stringify({ url })}\n`);
process.on("SIGTERM", () => process.exit(0));
