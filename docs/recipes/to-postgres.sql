-- Puts people into a table of one's own: docs/crm.md says how.
--   psql -v how=upsert -v rows=people.ndjson -f to-postgres.sql
-- how: update, create, upsert. `people.network_url` is unique; a field that came empty stays as it was.
\set ON_ERROR_STOP on
\set QUIET on
BEGIN;

CREATE TEMPORARY TABLE line (number bigserial, row jsonb) ON COMMIT DROP;
\set copy '\\copy line (row) FROM ' :'rows' ' WITH (FORMAT csv, QUOTE E''\\x01'', DELIMITER E''\\x02'')'
:copy

CREATE TEMPORARY TABLE came ON COMMIT DROP AS
SELECT DISTINCT ON (row->>'network_url')
  row->>'network_url' AS network_url, row->>'name' AS name, row->>'title' AS title,
  row->>'company_domain' AS company_domain
FROM line WHERE row->>'network_url' <> '' ORDER BY row->>'network_url', number DESC;

-- Who is there already, and whoever was pushed is not pushed again.
DELETE FROM came USING pushed WHERE pushed.network_url = came.network_url;

WITH updated AS (
  UPDATE people SET
    name = coalesce(nullif(came.name, ''), people.name),
    title = coalesce(nullif(came.title, ''), people.title),
    company_domain = coalesce(nullif(came.company_domain, ''), people.company_domain)
  FROM came WHERE came.network_url = people.network_url AND :'how' IN ('update', 'upsert')
  RETURNING people.network_url
), created AS (
  INSERT INTO people (network_url, name, title, company_domain)
  SELECT network_url, name, title, company_domain FROM came WHERE :'how' IN ('create', 'upsert')
  ON CONFLICT (network_url) DO NOTHING
  RETURNING network_url
)
INSERT INTO pushed SELECT network_url FROM updated UNION SELECT network_url FROM created;

COMMIT;
SELECT count(*) AS pushed_in_all FROM pushed;
