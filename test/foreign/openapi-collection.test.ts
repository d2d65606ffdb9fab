import { createRequire } from "node:module";
import { expect, test } from "vitest";
import { openApiDocument } from "../../src/shared/openapi/document.ts";
import { startTestService } from "../support/service.ts";
import { requestCollection } from "./collection.ts";

const require = createRequire(import.meta.url);

interface Summary {
  readonly run: {
    readonly stats: Record<string, { readonly total: number; readonly failed: number }>;
    readonly failures: readonly {
      readonly error: { readonly message: string };
      readonly source?: { readonly name: string };
    }[];
  };
}
type Run = (options: object, done: (error: Error | null, summary: Summary) => void) => void;

test("docs/served/collection.json is what the document makes (npx vitest -u writes it)", async () => {
  const collection = await requestCollection(openApiDocument());
  await expect(`${JSON.stringify(collection, null, 2)}\n`).toMatchFileSnapshot(
    "../../docs/served/collection.json",
  );
});

test.each(["live", "test"] as const)("its own runner runs it green with a %s key", async (mode) => {
  const service = await startTestService({ people: 1_000 });
  try {
    const { run } = require("newman") as { run: Run };
    const collection = await requestCollection(openApiDocument());
    const summary = await new Promise<Summary>((resolve, reject) => {
      const envVar = [
        { key: "baseUrl", value: service.url },
        { key: "api_key", value: mode === "live" ? service.key : service.testKey },
      ];
      run({ collection, envVar, reporters: [] }, (error, result) =>
        error === null ? resolve(result) : reject(error),
      );
    });
    const failures = summary.run.failures.map(
      ({ error, source }) => `${source?.name}: ${error.message}`,
    );
    expect(failures).toEqual([]);
    expect(summary.run.stats.requests).toMatchObject({ total: 10, failed: 0 });
    expect(summary.run.stats.assertions?.total).toBe(30);
  } finally {
    await service.close();
  }
});
