import { NUMBER_COLUMNS } from "../../shared/contract/conditions.ts";
import { PERSON_FIELDS } from "../../shared/contract/records.ts";
import { PERSON_COLUMNS } from "./person.ts";

/** Raised whenever a table changes: a library of another format is made again. */
export const FORMAT = 4;

/** The others read the narrow table from end to end. */
const INDEXES = [
  ["country", "department", "seniority_level"],
  ["department", "seniority_level", "connections"],
  ["title"],
  ["name"],
  ["headline"],
  ["industry"],
  ["network_url_slug"],
  ["company_network_url_slug"],
];

/**
 * `person`: everybody once, with normal forms. `record`: each different record of a person.
 * `purchase`: every paid row; the newest one's record is the person's. `page`: which pages of which
 * run are in. `run`: what was bought. `suppressed`: who is left out of every answer. `list`: that
 * another machine keeps, too (`kept_by`); `refresh.files`: SHA-256 of each file as it was.
 */
export const SCHEMA = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE person (
  n INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE, record INTEGER NOT NULL,
  bought_at INTEGER NOT NULL, bought_by TEXT NOT NULL,
  ${PERSON_COLUMNS.map(
    (column) => `${column} ${NUMBER_COLUMNS.includes(column) ? "INTEGER" : "TEXT"}`,
  ).join(", ")}
);
CREATE TABLE record (r INTEGER PRIMARY KEY, person INTEGER NOT NULL, body TEXT NOT NULL);
CREATE INDEX record_of_person ON record (person);
CREATE TABLE purchase (
  person INTEGER NOT NULL, at INTEGER NOT NULL, run TEXT NOT NULL, unit INTEGER NOT NULL,
  position INTEGER NOT NULL,
  price INTEGER NOT NULL, record INTEGER NOT NULL, PRIMARY KEY (person, at, run, unit, position)
) WITHOUT ROWID;
CREATE INDEX purchase_of_run ON purchase (run);
CREATE TABLE suppressed (person INTEGER PRIMARY KEY);
CREATE TABLE page (run TEXT NOT NULL, unit INTEGER NOT NULL, PRIMARY KEY (run, unit)) WITHOUT ROWID;
CREATE TABLE run (
  id TEXT PRIMARY KEY, command TEXT NOT NULL, target TEXT NOT NULL, dataset_version TEXT,
  output TEXT, created_at TEXT NOT NULL,
  finished_at INTEGER
) WITHOUT ROWID;
CREATE TABLE list (
  n INTEGER PRIMARY KEY, output TEXT NOT NULL UNIQUE, filters TEXT NOT NULL,
  canonical TEXT NOT NULL, view TEXT NOT NULL, at INTEGER NOT NULL,
  kept_by TEXT
);
CREATE TABLE refresh (
  list INTEGER NOT NULL, refresh INTEGER NOT NULL, at INTEGER NOT NULL, dataset_version TEXT,
  count INTEGER NOT NULL, added INTEGER NOT NULL,
  removed INTEGER NOT NULL, changed INTEGER NOT NULL, calls INTEGER NOT NULL,
  credits INTEGER NOT NULL, run TEXT, files TEXT NOT NULL,
  PRIMARY KEY (list, refresh)
) WITHOUT ROWID;
CREATE TABLE member (list INTEGER NOT NULL, person TEXT NOT NULL, since INTEGER NOT NULL,
  until INTEGER, PRIMARY KEY (list, person, since)) WITHOUT ROWID;
CREATE TABLE changed (list INTEGER NOT NULL, refresh INTEGER NOT NULL, person TEXT NOT NULL,
  fields TEXT NOT NULL, PRIMARY KEY (list, refresh, person))
  WITHOUT ROWID;
${INDEXES.map(
  (columns) => `CREATE INDEX person_by_${columns.join("_")} ON person (${columns.join(", ")});`,
).join("\n")}
`;

const CREDITS = "/ 1000000.0";
const ISO = (column: string): string =>
  `strftime('%Y-%m-%dT%H:%M:%fZ', ${column} / 1000.0, 'unixepoch')`;

const NOT_SUPPRESSED = "NOT IN (SELECT person FROM main.suppressed)";

export const SHOWN = `CREATE TEMP VIEW shown AS SELECT * FROM main.person
  WHERE n ${NOT_SUPPRESSED}`;

const FIELDS = PERSON_FIELDS.map((field) => `body ->> '$.${field}' AS ${field}`).join(", ");

/** Temporary, so that they cost nobody else anything. Suppressed are left out. */
export const VIEWS = `
CREATE TEMP VIEW person AS SELECT * FROM main.person WHERE n ${NOT_SUPPRESSED};
CREATE TEMP VIEW record AS SELECT * FROM main.record WHERE person ${NOT_SUPPRESSED};
CREATE TEMP VIEW purchase AS SELECT * FROM main.purchase WHERE person ${NOT_SUPPRESSED};
CREATE TEMP VIEW people AS SELECT ${FIELDS}, body AS record,
  ${ISO("bought_at")} AS bought_at,
  (SELECT ${ISO("min(at)")} FROM purchase WHERE purchase.person = n) AS first_bought_at,
  (SELECT count(*) FROM purchase WHERE purchase.person = n) AS times_bought,
  (SELECT sum(price) ${CREDITS} FROM purchase WHERE purchase.person = n) AS credits
  FROM person JOIN record ON r = person.record;
CREATE TEMP VIEW purchases AS SELECT body ->> '$.id' AS id, body ->> '$.name' AS name,
  ${ISO("at")} AS at, run, price ${CREDITS} AS credits
  FROM purchase LEFT JOIN record ON r = purchase.record;
CREATE TEMP VIEW lists AS SELECT output AS list, canonical AS filters, ${ISO("at")} AS at,
  (SELECT count(*) FROM member WHERE member.list = n AND until IS NULL) AS people FROM list;
CREATE TEMP VIEW refreshes AS SELECT output AS list, refresh, ${ISO("refresh.at")} AS at,
  dataset_version, count, added, removed, changed, calls,
  credits ${CREDITS} AS credits, run FROM refresh JOIN list ON n = refresh.list;
CREATE TEMP VIEW list_people AS SELECT output AS list, person AS id, since, until FROM member
  JOIN list ON n = member.list;
CREATE TEMP VIEW runs AS SELECT id, command, target, dataset_version, output, created_at FROM run;
`;
