-- What `remotist-market migrate` has done to this database, and the words that every later migration uses.

CREATE TABLE schema_migration (
  number     integer PRIMARY KEY,
  name       text NOT NULL,
  sha256     bytea NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now()
);

-- A moment as JSON and logs spell it: 2026-01-31T12:00:00.123Z
CREATE FUNCTION utc_text(moment timestamptz) RETURNS text
LANGUAGE sql IMMUTABLE STRICT RETURN to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"');
