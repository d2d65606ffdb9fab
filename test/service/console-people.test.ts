import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { wholeBytes } from "../../src/engine/output/whole/bytes.ts";
import { createKey } from "../../src/service/admin/keys.ts";
import type { WholeFile } from "../../src/service/http/options.ts";
import { failed } from "../../src/shared/errors.ts";
import { readWorkbook } from "../../src/shared/tables/workbook.ts";
import { as, ConsoleClient, type Session } from "../support/console.ts";
import { startTestService, type TestService } from "../support/service.ts";

const folder = mkdtempSync(join(tmpdir(), "headcount-people-"));
afterAll(() => rmSync(folder, { recursive: true }));

const wholeFile: WholeFile = (format, pages) => wholeBytes(format, "person", pages);

async function bought(profiles: number, console: { wholeFile?: WholeFile } = { wholeFile }) {
  const service = await startTestService({ people: 2_000, console });
  onTestFinished(() => service.close());
  const page = new ConsoleClient(service, Date.now);
  const session = await page.enter();
  const { json } = await page.call(session, "POST", "/quote", { filters: {}, profiles });
  const { id } = (await page.call(session, "POST", "/exports", { quote_id: json.quote_id })).json;
  expect(await page.bought(session, id)).toMatchObject({ state: "ready", rows: profiles });
  return { service, page, session, id };
}

/** A file of it, byte by byte. */
async function file(service: TestService, session: Session, path: string) {
  const answer = await fetch(`${service.url}${path}`, {
    headers: { ...as(session), "sec-fetch-site": "same-origin" },
  });
  return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) };
}

describe("the people of an export", () => {
  test("are given page by page, as they were paid for, to who may buy and may see it", async () => {
    const { id, page, service, session } = await bought(1_500);
    const pages = await Promise.all(
      [0, 1].map((number) => page.call(session, "GET", `/exports/${id}/people/${number}`)),
    );
    const text = (await page.call(session, "GET", `/exports/${id}/ndjson`)).text;
    const lines = text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(pages.map(({ json }) => json.people.length)).toEqual([1_000, 500]);
    expect(pages.flatMap(({ json }) => json.people)).toEqual(lines);

    const statusOf = async (who: Session, path: string) =>
      (await page.call(who, "GET", `/exports/${path}`)).status;
    for (const wrong of ["2", "-1", "x", "1.5"])
      expect(await statusOf(session, `${id}/people/${wrong}`)).toBe(422);
    expect(await statusOf(await page.enter("viewer"), `${id}/people/0`)).toBe(403);
    const other = await createKey(service.store, { name: "other", mode: "live", now: Date.now });
    expect(await statusOf(await page.signIn({ key: other.key }), `${id}/people/0`)).toBe(404);
  });

  test("are an .xlsx and a Parquet file with the same rows, for the page and for a key", async () => {
    const { id, page, service, session } = await bought(25);
    expect((await page.call(session, "GET", "/me")).json.formats).toEqual([
      "csv",
      "ndjson",
      "xlsx",
      "parquet",
    ]);
    const names = (await page.call(session, "GET", `/exports/${id}/people/0`)).json.people.map(
      (person: { name: string }) => person.name,
    );
    const { DuckDBInstance } = await import("@duckdb/node-api");
    const parquet = await file(service, session, `/console/api/exports/${id}/parquet`);
    writeFileSync(join(folder, "people.parquet"), parquet.bytes);
    const duck = await (await DuckDBInstance.create()).connect();
    const read = await duck.runAndReadAll(`SELECT name FROM '${join(folder, "people.parquet")}'`);
    expect(read.getRows().map(([name]) => name)).toEqual(names);

    const sheet = await file(service, session, `/console/api/exports/${id}/xlsx`);
    expect([sheet.status, sheet.bytes.subarray(0, 2).toString()]).toEqual([200, "PK"]);
    const { rows } = readWorkbook("people.xlsx", sheet.bytes);
    expect([...rows].slice(1).map(({ cells }) => cells[2])).toEqual(names);

    const byKey = await fetch(`${service.url}/exports/${id}.xlsx`, {
      headers: { authorization: `Bearer ${service.key}` },
    });
    expect(byKey.status).toBe(200);
    expect(Buffer.from(await byKey.arrayBuffer()).length).toBe(sheet.bytes.length);
  });

  test("are no broken file where what writes it is missing: an answer says so", async () => {
    const error = failed.usage("Parquet needs a package that is not here", "install it");
    const missing: WholeFile = () => ({
      [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(error) }),
    });
    const { id, page, session } = await bought(2, { wholeFile: missing });
    const { json, status } = await page.call(session, "GET", `/exports/${id}/parquet`);
    expect([status, json.error]).toEqual([501, "Parquet needs a package that is not here"]);
  });

  test("are CSV and NDJSON alone where nobody brought a writer", async () => {
    const { id, page, session } = await bought(2, {});
    expect((await page.call(session, "GET", "/me")).json.formats).toEqual(["csv", "ndjson"]);
    expect((await page.call(session, "GET", `/exports/${id}/xlsx`)).status).toBe(422);
  });
});
