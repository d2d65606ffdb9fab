// Tested by test/cli/vendor-counts.test.ts.
import { searchTarget } from "../../engine/purchase/joined.ts";
import { toldLately } from "../../engine/purchase/told.ts";
import type { CheckedFilters } from "../../shared/contract/filters.ts";
import { type Credits, creditsText, ZERO } from "../../shared/contract/money.ts";
import { failed, option, say } from "../../shared/errors.ts";
import type { Events, Order, World } from "../buy/order.ts";

interface Terms {
  readonly maxCredits: Credits | undefined;
  /** Agrees to the price, or throws. */
  readonly agree: (price: Credits) => Promise<void>;
  readonly buy: (order: Order, world: World, events: Events) => Promise<unknown>;
}

/**
 * A count of a vendor that has none for nothing: the first page of a search is bought, as any
 * purchase is, and its total read. What was told within five minutes is not bought again.
 * @throws CliError what `agree` throws, exit 4 over the cap
 */
export async function countBought(
  segment: CheckedFilters,
  { maxCredits, agree, buy }: Terms,
  world: World,
): Promise<number> {
  const target = searchTarget([segment], []);
  const before = await toldLately(target, world);
  if (before !== undefined) return before;

  const { price = ZERO, rows = 1 } = world.seller.client.dialect.counting ?? {};
  if (maxCredits !== undefined && maxCredits < price)
    throw failed.credits(
      say`a count costs ${creditsText(price)}, more than ${option("max_credits")};
        nothing was spent`,
      undefined,
      "over_cap",
    );
  const order = { target, limit: rows, fresh: true, maxCredits: price };
  await buy(order, world, { agree: () => agree(price) });

  const count = await toldLately(target, world);
  if (count !== undefined) return count;
  throw failed.service("the page that was bought does not tell how many there are");
}
