// S1-S3: what a command costs before it does anything, against Node itself doing nothing.
import { median } from "./arithmetic.mjs";
import {
  API_KEY,
  absentRow,
  cpuOf,
  HEADCOUNT,
  headcount,
  inTurn,
  missing,
  ratioRow,
  runProgram,
  scratch,
  startPageServer,
  userEnvironment,
} from "./harness.mjs";

export const name = "startup";

const COMMANDS = {
  S1: ["--version"],
  S2: ["--help"],
  S3: ["count", "--department", "Sales"],
};
const TARGETS = { S1: 1.15, S2: 1.4, S3: 2.2 };
/** Variables that make every start of Node slower by tens of milliseconds, and so every ratio to it smaller. */
const SLOWING = ["NODE_EXTRA_CA_CERTS", "NODE_OPTIONS"];

export async function measure({ quick }) {
  const server = await startPageServer();
  const plain = userEnvironment(scratch("startup"), {
    HEADCOUNT_API_KEY: API_KEY,
    HEADCOUNT_BASE_URL: server.url,
  });
  const { stdout } = await headcount(COMMANDS.S3, { env: plain, capture: true });
  if (!/^\d+\n$/.test(stdout))
    throw new Error(`count printed ${JSON.stringify(stdout)}, not a bare number`);

  const slowing = Object.fromEntries(
    SLOWING.filter((key) => process.env[key]).map((key) => [key, process.env[key]]),
  );
  const environments = { plain };
  if (Object.keys(slowing).length > 0)
    environments[`with ${Object.keys(slowing).join(", ")}`] = { ...plain, ...slowing };

  const rows = [];
  for (const [part, env] of Object.entries(environments)) {
    const timed = (args) => async () => (await runProgram(process.execPath, args, { env })).ms;
    const variants = { node: timed(["-e", "0"]) };
    for (const [id, args] of Object.entries(COMMANDS)) variants[id] = timed([HEADCOUNT, ...args]);
    const samples = await inTurn(variants, quick ? 15 : 40, 2);
    const busy = (args) => () => cpuOf(process.execPath, args, { env });
    const cpu = await inTurn(
      {
        node: busy(["-e", "0"]),
        ...Object.fromEntries(
          Object.entries(COMMANDS).map(([id, args]) => [id, busy([HEADCOUNT, ...args])]),
        ),
      },
      quick ? 10 : 20,
    );
    for (const [id, args] of Object.entries(COMMANDS)) {
      rows.push(
        ratioRow({
          id,
          part: part === "plain" ? "nothing set" : part,
          work: `headcount ${args.join(" ")}${id === "S3" ? ", loopback service, key from the environment" : ""}`,
          yardstick: "node -e 0 in the same environment",
          target: { atMost: TARGETS[id] },
          ours: samples[id],
          theirs: samples.node,
          remark: `CPU time ${median(cpu[id]).toFixed(0)} ms, node ${median(cpu.node).toFixed(0)} ms: ${(median(cpu[id]) / median(cpu.node)).toFixed(2)}x`,
        }),
      );
    }
  }
  await server.stop();
  rows.push(await overTls(plain, quick));
  return rows.sort((a, b) => a.id.localeCompare(b.id));
}

/** The same call by Node's own means: what https costs before any program of ours is there. */
const FLOOR = `
const { HEADCOUNT_BASE_URL, HEADCOUNT_API_KEY } = process.env;
const headers = { "x-api-key": HEADCOUNT_API_KEY, "content-type": "application/json" };
const request = require("node:https").request(HEADCOUNT_BASE_URL + "/v1/person/count", { method: "POST", headers });
request.on("response", (response) => response.pipe(process.stdout)).end("{}");`;

async function overTls(plain, quick) {
  const about = {
    id: "S3",
    part: "over https",
    yardstick: "node -e 0",
    target: { atMost: TARGETS.S3 },
  };
  const work = `headcount ${COMMANDS.S3.join(" ")}, loopback service with TLS, key from the environment`;
  const absent = missing({ openssl: "openssl" });
  if (absent !== undefined)
    return absentRow({ ...about, work, target: `<= ${TARGETS.S3}x`, reason: absent });
  const server = await startPageServer({ tls: true });
  // A file of authorities would be read by every Node in the row, for as long as its whole start takes.
  const env = {
    ...plain,
    HEADCOUNT_BASE_URL: server.url,
    NODE_TLS_REJECT_UNAUTHORIZED: "0",
    NODE_NO_WARNINGS: "1",
  };
  const { stdout } = await headcount(COMMANDS.S3, { env, capture: true });
  if (!/^\d+\n$/.test(stdout))
    throw new Error(`count printed ${JSON.stringify(stdout)}, not a bare number`);
  const timed = (args) => async () => (await runProgram(process.execPath, args, { env })).ms;
  const { floor, node, ours } = await inTurn(
    {
      node: timed(["-e", "0"]),
      floor: timed(["-e", FLOOR]),
      ours: timed([HEADCOUNT, ...COMMANDS.S3]),
    },
    quick ? 15 : 40,
    2,
  );
  await server.stop();
  const own = `Node's own https with one POST ${median(floor).toFixed(0)} ms, ${(median(floor) / median(node)).toFixed(2)}x`;
  return ratioRow({ ...about, work, ours, theirs: node, remark: own });
}
