import { randomBytes } from "node:crypto";
import type {
  ClientCapabilities,
  InputRequiredResult,
  RequestStateCodec,
  Server,
  ServerContext,
} from "@modelcontextprotocol/server";
import { leastOrMost } from "../../engine/purchase/owned.ts";
import { costsAtMost, costText, paidAgain, rowsToBuy } from "../../engine/purchase/quote.ts";
import { spokenTarget } from "../../engine/runs/plan.ts";
import { creditsText, formatCreditsGrouped } from "../../shared/contract/money.ts";
import { counted, grouped, harmlessLine } from "../../shared/contract/text.ts";
import { type CliError, declined } from "../../shared/errors.ts";
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

/** Signs and checks questions. The secret dies with the process, as its quotes do. */
export const questionCodec = (sdk: Sdk): QuestionCodec =>
  sdk.createRequestStateCodec<ConsentQuestion>({
    key: randomBytes(32),
    ttlSeconds: QUOTE_MS / 1_000,
    bind: (ctx) => ctx.mcpReq.method,
  });

/**
 * Whether the client can show a person a form: it says
 * so with each request, or said so when it connected.
 */
function canAsk(ctx: ServerContext, server: Server): boolean {
  const envelope: Readonly<Record<string, unknown>> | undefined = ctx.mcpReq.envelope;
  const capabilities = envelope?.[CAPABILITIES] as ClientCapabilities | undefined;
  const elicitation = (capabilities ?? server.getClientCapabilities())?.elicitation;
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

const refusal = (message: string, hint: string, code: string): CliError =>
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
    return ask(offer, asking);
  }

  if (question.quote !== offer.id || !world.quotes.answers(offer.id, question.question))
    throw refusal(
      "this is no answer to a question that is open",
      "leave requestState out to be asked",
      "no_question",
    );

  const answer = sdk.inputResponse(answers, SPEND);
  if (answer.kind === "elicit" && answer.action === "accept" && answer.content?.[SPEND] === true)
    return undefined;

  world.quotes.drop(offer.id);

  throw refusal(
    "declined",
    "the quote is void: ask for another only if the person wants one",
    "declined",
  );
}

/**
 * Nobody is asked for what the budget would refuse.
 * Requests of an unfinished run are in it already.
 */
async function requireRoom(
  { command, continues, isTest, quote }: HeldQuote,
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
    `a person may buy it: ${command}`,
    "over_budget",
  );
}

async function ask(
  offer: HeldQuote,
  { sdk, codec, ctx, world }: ConsentAsking,
): Promise<InputRequiredResult> {
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
  const state = { quote: offer.id, question: world.quotes.ask(offer.id) };

  return sdk.inputRequired({
    inputRequests: {
      [SPEND]: sdk.inputRequired.elicit({
        message:
          `${spend} on ${what}: ${harmlessLine(spokenTarget(target), 300)}?${again} ` +
          `The budget "${world.budget?.name}" has ${rest} left.`,
        requestedSchema: {
          type: "object",
          properties: {
            [SPEND]: {
              type: "boolean",
              title: spend,
              description: "Yes buys it now.",
              default: false,
            },
          },
          required: [SPEND],
        },
      }),
    },
    requestState: await codec.mint(state, ctx),
  });
}
