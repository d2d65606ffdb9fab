import type { FastifyError } from "fastify";
import { OutOfTimeError } from "../../dataset/engine.ts";
import { OutcomeUnknownError } from "../money/billing.ts";
import { DeadlineError } from "./deadline.ts";
import { unsupportedMediaType } from "./incoming.ts";
import { invalid, Problem, VanishedError } from "./problem.ts";

/** What a failure anywhere in a request is to the client (docs/contract.md, Errors). */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const { code, statusCode } = (typeof error === "object" && error !== null ? error : {}) as Partial<FastifyError>;
  if (code === "FST_ERR_CTP_INVALID_MEDIA_TYPE") return unsupportedMediaType();
  if (typeof statusCode === "number" && statusCode >= 400 && statusCode < 500) {
    return invalid("the body cannot be read");
  }
  if (error instanceof DeadlineError || error instanceof OutOfTimeError) {
    return new Problem(500, [`${error.message}; nothing was charged, try again`]);
  }
  if (error instanceof OutcomeUnknownError) {
    return new Problem(500, ["internal error; ask again with the same Idempotency-Key to learn the outcome"]);
  }
  if (error instanceof VanishedError) return new Problem(500, [`${error.message}; nothing was charged`]);
  return new Problem(500, ["internal error; nothing was charged"]);
}
