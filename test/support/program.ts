import { expect, onTestFinished } from "vitest";
import { connect, HeadcountError } from "../../src/api/connect.ts";
import type { ConnectOptions, Headcount } from "../../src/api/index.ts";
import type { User } from "./export.ts";

/** A connection as a program of this user opens one, until the test is over. */
export async function connected(u: User, more: ConnectOptions = {}): Promise<Headcount> {
  const hc = await connect({ env: u.env, ...more });
  onTestFinished(() => hc.close());
  return hc;
}

/** What a program hears of a call that is to fail. */
export const failureOf = (promise: Promise<unknown>): Promise<HeadcountError> =>
  promise.then(
    () => expect.fail("it was to fail"),
    (error: unknown) => {
      expect(error).toBeInstanceOf(HeadcountError);
      return error as HeadcountError;
    },
  );
