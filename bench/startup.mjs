// S1-S3: what a command costs before it does anything, against Node itself doing nothing.
import {
  API_KEY,
  HEADCOUNT,
  headcount,
  inTurn,
  ratioRow,
  runProgram,
  scratch,
  startPageServer,
  userEnvironment,
} from "./harness.mjs";

export const name = "startup";
export const covers = ["S1", "S2", "S3"];

export async function measure({ quick }) {
  const server = await startPageServer();
  const env = userEnvironment(scratch("startup"), { HEADCOUNT_API_KEY: API_KEY, HEADCOUNT_BASE_URL: server.url });
  const ours = {
    S1: ["--version"],
    S2: ["--help"],
    S3: ["count", "--department", "Sales"],
  };
  const { stdout } = await headcount(ours.S3, { env, capture: true });
  if (!/^\d+\n$/.test(stdout)) throw new Error(`count printed ${JSON.stringify(stdout)}, not a bare number`);

  const timed = (args) => async () => (await runProgram(process.execPath, args, { env })).ms;
  const variants = { node: timed(["-e", "0"]) };
  for (const [id, args] of Object.entries(ours)) variants[id] = timed([HEADCOUNT, ...args]);
  const samples = await inTurn(variants, quick ? 15 : 40, 2);
  await server.stop();

  const row = (id, work, atMost) =>
    ratioRow({ id, work, yardstick: "node -e 0", target: { atMost }, ours: samples[id], theirs: samples.node });
  return [
    row("S1", "headcount --version", 1.15),
    row("S2", "headcount --help", 1.4),
    row("S3", "headcount count --department Sales, loopback service, key from the environment", 2.2),
  ];
}
