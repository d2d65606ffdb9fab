-- Puts people or companies into a table of one's own: docs/how-to/crm.md says how.
--   psql -v how=upsert -v rows=people.ndjson -v into=people -v key=network_url -v fields=name,title -f to-postgres.sql
-- how: update, create, upsert. `key` is unique in the table. Its columns that `fields` names get the fields of that
-- name, and no other is written; a field that came empty stays as it was.
\set ON_ERROR_STOP on
\set QUIET on
BEGIN;

CREATE TABLE IF NOT EXISTS pushed (place text, key text, PRIMARY KEY (place, key));
CREATE TEMPORARY TABLE line (number bigserial, row jsonb) ON COMMIT DROP;
\set copy '\\copy line (row) FROM ' :'rows' ' WITH (FORMAT csv, QUOTE E''\\x01'', DELIMITER E''\\x02'')'
:copy

SELECT string_agg(quote_ident(field), ', ') AS columns,
  string_agg(format('%1$I = coalesce(came.%1$I, own.%1$I)', field), ', ') AS changes
FROM unnest(string_to_array(:'fields', ',')) AS field \gset

CREATE TEMPORARY TABLE came ON COMMIT DROP AS
SELECT DISTINCT ON (whole.:"key") whole.:"key", :columns
FROM line, jsonb_populate_record(
  CAST(NULL AS :into),
  -- Only what came, so that no value of another column's type is looked at.
  (SELECT jsonb_object_agg(each.key, value) FROM jsonb_each(row) AS each
   WHERE value NOT IN ('""', 'null') AND each.key = ANY (string_to_array(:'fields', ',') || :'key'::text))
) AS whole
WHERE whole.:"key" IS NOT NULL ORDER BY whole.:"key", number DESC;

-- Whoever was pushed is not pushed again.
DELETE FROM came USING pushed WHERE pushed.place = :'into' AND pushed.key = came.:"key";

WITH updated AS (
  UPDATE :into AS own SET :changes
  FROM came WHERE came.:"key" = own.:"key" AND :'how' IN ('update', 'upsert')
  RETURNING own.:"key" AS key
), created AS (
  INSERT INTO :into (:"key", :columns)
  SELECT :"key", :columns FROM came WHERE :'how' IN ('create', 'upsert')
  ON CONFLICT (:"key") DO NOTHING
  RETURNING :"key" AS key
)
INSERT INTO pushed SELECT :'into', key FROM (SELECT * FROM updated UNION SELECT * FROM created) AS all_of_them;

COMMIT;
SELECT count(*) AS pushed_in_all FROM pushed WHERE place = :'into';
