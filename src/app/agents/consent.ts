import { randomBytes } from "node:crypto";
import type {
  ClientCapabilities,
  ElicitRequestFormParams,
  InputRequiredResult,
  RequestStateCodec,
  Server,
  ServerContext,
} from "@modelcontextprotocol/server";
import { leastOrMost } from "../../engine/purchase/owned.ts";
import { costsAtMost, costText, paidAgain, rowsToBuy } from "../../engine/purchase/quote.ts";
import { spokenTarget } from "../../engine/runs/plan.ts";
import { creditsText, formatCreditsGrouped } from "../../shared/contract/money.ts";
import { counted, grouped, harmlessLine, type Members } from "../../shared/contract/text.ts";
import { type CliError, type CodeOf, declined } from "../../shared/errors.ts";
import { type AgentWorld, type HeldQuote, leftOf, QUOTE_MS, useOf } from "./world.ts";

type Sdk = typeof import("@modelcontextprotocol/server");

/** What comes back with an answer, signed: which quote it is about, and which question. */
export interface ConsentQuestion {
  readonly quote: string;
  readonly question: string;
}

export type QuestionCodec = RequestStateCodec<ConsentQuestion>;

const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const SPEND = "spend";
/** Clients give a call up after a minute without a word. */
const TELL_MS = 5_000;

/** Signs and checks questions. The secret dies with the process, as its quotes do. */
export const questionCodec = (sdk: Sdk): QuestionCodec =>
  sdk.createRequestStateCodec<ConsentQuestion>({
    key: randomBytes(32),
    ttlSeconds: QUOTE_MS / 1_000,
    bind: (ctx) => ctx.mcpReq.method,
  });

/** What the client says it can with each request, as those of 2026-07-28 do. */
function saidWith(ctx: ServerContext): ClientCapabilities | undefined {
  const envelope: Members | undefined = ctx.mcpReq.envelope;
  return envelope?.[CAPABILITIES] as ClientCapabilities | undefined;
}

/**
 * Whether the client can show a person a form: it says
 * so with each request, or said so when it connected.
 */
function canAsk(ctx: ServerContext, server: Server): boolean {
  const elicitation = (saidWith(ctx) ?? server.getClientCapabilities())?.elicitation;
  return (
    elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined)
  );
}

export interface ConsentAsking {
  readonly sdk: Sdk;
  readonly codec: QuestionCodec;
  readonly server: Server;
  readonly ctx: ServerContext;
  readonly world: AgentWorld;
}

const refusal = (message: string, hint: string | undefined, code: CodeOf<"declined">): CliError =>
  declined(`${message}; nothing was spent`, hint, code);

/** The quote that an answer in this request is about. Our signature was checked by then. */
export const questionOf = ({ ctx }: ConsentAsking): ConsentQuestion | undefined => {
  const state = ctx.mcpReq.requestState<ConsentQuestion>();
  return typeof state === "object" && state !== null ? state : undefined;
};

/**
 * Consent to a quote.
 * @returns undefined where it is given: the quote may be taken; else the question
 * @throws CliError where it is refused. A declined quote is dead.
 */
export async function consentTo(
  offer: HeldQuote,
  asking: ConsentAsking,
): Promise<InputRequiredResult | undefined> {
  const { ctx, world, server, sdk } = asking;
  const question = questionOf(asking);
  const answers = ctx.mcpReq.inputResponses;
  if (question === undefined && answers !== undefined)
    throw refusal(
      "an answer came to a question that was not asked",
      "leave inputResponses out to be asked",
      "no_question",
    );

  if (costsAtMost(offer.quote, world.askOver)) return undefined;
  if (question === undefined) {
    if (!canAsk(ctx, server)) {
      throw refusal(
        "a person has to agree to this, and this client cannot ask one",
        `a person may buy it: ${offer.command}`,
        "consent_needed",
      );
    }
    await requireRoom(offer, world);
    const form = await formOf(offer, world);
    if (saidWith(ctx) !== undefined) return required(form, offer, asking);
    return agreed(await answerTo(form, asking), offer, world);
  }

  if (question.quote !== offer.id || !world.quotes.answers(offer.id, question.question))
    throw refusal(
      "this is no answer to a question that is open",
      "leave requestState out to be asked",
      "no_question",
    );

  const answer = sdk.inputResponse(answers, SPEND);
  return agreed(answer.kind === "elicit" ? answer : undefined, offer, world);
}

interface Answered {
  readonly action: string;
  readonly content?: Members | undefined;
}

function agreed(answer: Answered | undefined, offer: HeldQuote, world: AgentWorld): undefined {
  if (answer?.action === "accept" && answer.content?.[SPEND] === true) return undefined;
  world.quotes.drop(offer.id);
  throw refusal(
    "declined",
    "the quote is void: ask for another only if the person wants one",
    "declined",
  );
}

/**
 * Of clients before 2026-07-28, whose call stays open meanwhile: they are told that it goes on,
 * where they gave a token for that.
 */
async function answerTo(form: ElicitRequestFormParams, asking: ConsentAsking): Promise<Answered> {
  const { id, notify, signal, _meta: meta } = asking.ctx.mcpReq;
  const token = meta?.progressToken;
  let progress = 0;
  const tell = (): void => {
    if (token === undefined) return;
    progress += 1;
    const params = { progressToken: token, progress, message: "A person is being asked." };
    notify({ method: "notifications/progress", params }).catch(() => undefined);
  };

  tell();
  const timer = setInterval(tell, TELL_MS);
  try {
    const options = { timeout: QUOTE_MS, signal, relatedRequestId: id };
    return await asking.server.elicitInput(form, options);
  } catch (error) {
    signal.throwIfAborted();
    throw refusal(
      `the client brought no answer: ${(error as Error).message}`,
      "a person may answer another time: the quote holds as long as it says",
      "no_answer",
    );
  } finally {
    clearInterval(timer);
  }
}

/**
 * Nobody is asked for what the budget would refuse.
 * Requests of an unfinished run are in it already.
 */
async function requireRoom(
  { continues, isTest, quote }: HeldQuote,
  world: AgentWorld,
): Promise<void> {
  const use = await useOf(world, isTest);
  if (
    use === undefined ||
    world.budget === undefined ||
    continues !== undefined ||
    quote.credits <= use.left
  )
    return;

  const { cap, name, per } = world.budget;
  const [cost, rest] = [costText(quote), formatCreditsGrouped(use.left)];
  throw refusal(
    `it costs ${cost}, and the budget "${name}" has ${rest} left (${per}): ` +
      `${formatCreditsGrouped(use.spent)} of ${creditsText(cap)} are spent or at risk`,
    // What else there is the door says: a model is handed no command past its bounds.
    undefined,
    "over_budget",
  );
}

async function formOf(offer: HeldQuote, world: AgentWorld): Promise<ElicitRequestFormParams> {
  const { quote, target } = offer;
  const most = leastOrMost(quote, target);
  const spend = `Spend ${most}${costText(quote)}`;
  const rows = rowsToBuy(quote);
  const what =
    target.kind === "enrich"
      ? counted(rows, "company", "companies")
      : `${most}${counted(rows, "profile")}`;

  const again =
    paidAgain(quote) === 0 ? "" : ` Up to ${grouped(paidAgain(quote))} of them are owned already.`;
  const rest = formatCreditsGrouped(await leftOf(world, offer.isTest));
  const yes = { type: "boolean", title: spend, description: "Yes buys it now.", default: false };

  return {
    message:
      `${spend} on ${what}: ${harmlessLine(spokenTarget(target), 300)}?${again} ` +
      `The budget "${world.budget?.name}" has ${rest} left.`,
    requestedSchema: { type: "object", properties: { [SPEND]: yes }, required: [SPEND] },
  } as ElicitRequestFormParams;
}

async function required(
  form: ElicitRequestFormParams,
  offer: HeldQuote,
  { sdk, codec, ctx, world }: ConsentAsking,
): Promise<InputRequiredResult> {
  const state = { quote: offer.id, question: world.quotes.ask(offer.id) };
  return sdk.inputRequired({
    inputRequests: { [SPEND]: sdk.inputRequired.elicit(form) },
    requestState: await codec.mint(state, ctx),
  });
}
