// What the counts are held against: the same people as one DuckDB table, in normal form and in public order. Made once, and kept.
import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { CACHE, note, ROOT, scratch } from "./harness.mjs";

/** Attaches the table as `filters.people` (the dataset's filter columns and `rid`). @param key names what the dataset holds */
export async function attachFilterTable(connection, version, people, key) {
  const path = join(CACHE, `filters-${key}.duckdb`);
  if (!existsSync(path)) {
    note(`writing ${people.toLocaleString("en")} people to DuckDB in public order`);
    await write(path, version);
  }
  await connection.run(`ATTACH '${path}' AS filters (READ_ONLY)`);
}

async function write(path, version) {
  const { RecordStore } = await import(join(ROOT, "dist/dataset/embedded/record-store.js"));
  const { loadRecords } = await import(join(ROOT, "dist/dataset/build/records-table.js"));
  const { addNormalForms } = await import(join(ROOT, "dist/dataset/build/normal-sql.js"));
  const { FILTER_COLUMNS, NORMAL_COLUMNS } = await import(
    join(ROOT, "dist/shared/contract/conditions.js")
  );
  const { startDuckDb, machineResources } = await import(join(ROOT, "dist/dataset/duckdb.js"));
  const folder = scratch("filters", CACHE);
  const draft = `${path}.draft`;
  rmSync(draft, { force: true });
  const store = await RecordStore.open(version);
  const instance = await startDuckDb(machineResources(), folder);
  try {
    const connection = await instance.connect();
    await addNormalForms(connection);
    const room = { connection, scratch: folder };
    await loadRecords(room, "people", FILTER_COLUMNS, store.all("people"));
    const columns = FILTER_COLUMNS.map((column) =>
      NORMAL_COLUMNS.includes(column) ? `normal_form(${column}) AS ${column}` : column,
    );
    await connection.run(`ATTACH '${draft}' AS draft (STORAGE_VERSION 'latest');
      CREATE TABLE draft.people AS SELECT rowid::UINTEGER AS rid, ${columns.join(", ")} FROM people;
      CHECKPOINT draft; DETACH draft`);
  } finally {
    instance.closeSync();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
  renameSync(draft, path);
}
