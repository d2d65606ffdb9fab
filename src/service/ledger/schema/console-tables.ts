/** What the console keeps: nobody's money, and no record of a person. */
export const consoleTables = (int: string, keyed: string): string => `
CREATE TABLE console_links (
  hash text PRIMARY KEY CHECK (length(hash) = 64), account_id text NOT NULL REFERENCES accounts (id),
  role text NOT NULL CHECK (role IN ('operator', 'owner', 'viewer')),
  created_at ${int} NOT NULL, expires_at ${int} NOT NULL, used_at ${int}
) ${keyed};

CREATE TABLE console_sessions (
  id text PRIMARY KEY, hash text NOT NULL UNIQUE CHECK (length(hash) = 64), proof_hash text NOT NULL CHECK (length(proof_hash) = 64),
  account_id text NOT NULL REFERENCES accounts (id), role text NOT NULL CHECK (role IN ('operator', 'owner', 'viewer', 'key')),
  key_hash text, created_at ${int} NOT NULL, seen_at ${int} NOT NULL, expires_at ${int} NOT NULL, ended_at ${int},
  CHECK ((role = 'key') = (key_hash IS NOT NULL))
) ${keyed};

CREATE TABLE console_exports (
  id text PRIMARY KEY, account_id text NOT NULL REFERENCES accounts (id), mode text NOT NULL CHECK (mode IN ('live', 'test')),
  key_id text NOT NULL, filters text NOT NULL, version text NOT NULL, profiles ${int} NOT NULL, per_page ${int} NOT NULL,
  price ${int} NOT NULL, created_at ${int} NOT NULL, state text NOT NULL CHECK (state IN ('buying', 'ready', 'stopped')), why text NOT NULL,
  pages ${int} NOT NULL, row_count ${int} NOT NULL, credits ${int} NOT NULL, seen_at ${int} NOT NULL
) ${keyed};
CREATE INDEX console_exports_account ON console_exports (account_id, mode, created_at);

CREATE TABLE console_segments (
  account_id text NOT NULL REFERENCES accounts (id), name text NOT NULL, filters text NOT NULL, count ${int} NOT NULL,
  counted_at ${int} NOT NULL, PRIMARY KEY (account_id, name)
) ${keyed};

CREATE TABLE console_places (origin text PRIMARY KEY, started_at ${int} NOT NULL) ${keyed};
`;
