import { useSignal } from "@preact/signals";
import type { UsageAnswer } from "../../service/console/account.ts";
import { amount, figure, sumOf, whoOf } from "../segment.ts";
import { mode } from "../state.ts";
import { Absent, Card, Choice, Table, useLoaded } from "./parts.tsx";

type UsageRow = UsageAnswer["rows"][number];

const BY = (["key", "call"] as const).map((each) => [each, each] as const);
const DAYS = 30;

export function Usage() {
  const by = useSignal<"key" | "call">("key");
  const path = `/usage?by=${by.value}&days=${DAYS}&mode=${mode.value}`;
  const { answer } = useLoaded<UsageAnswer>(path);
  const charged = (answer?.rows ?? []).filter(({ credits }) => credits > 0);
  const days = [...Map.groupBy(charged, ({ day }) => day)]
    .map(([day, rows]) => ({
      day,
      rows: rows.sort((a, b) => b.credits - a.credits),
      credits: sumOf(rows.map(({ credits }) => credits)),
    }))
    .reverse();

  const most = Math.max(...days.map(({ credits }) => credits));
  const refunded = sumOf((answer?.rows ?? []).map((row) => row.refunded));
  const partOf = ({ call, credits, key }: UsageRow): string =>
    `${by.value === "key" ? whoOf(key ?? "") : call?.replaceAll("_", " ")} ${figure(credits)}`;

  return (
    <Card
      id="usage"
      title={`Credits by day, the last ${DAYS} days`}
      beside={<Choice name="by" chosen={by} options={BY} />}
    >
      <Absent isAsked={answer !== undefined} isThere={days.length > 0} />
      <Table
        name="Credits by day"
        testId="usage"
        rows={days}
        columns={[
          ["Day (UTC)", ({ day }) => day, "row"],
          ["Credits", ({ credits }) => figure(credits), "n"],
          ["Compared", ({ credits }) => <progress max={most} value={credits} aria-hidden="true" />],
          [`By ${by.value}`, ({ rows }) => rows.map(partOf).join(" · "), "wide"],
        ]}
      />
      {refunded > 0 ? (
        <p class="soft">{amount(refunded, "credit")} of these were given back since.</p>
      ) : null}
    </Card>
  );
}
