-- Messages that a transaction wants sent. A publisher claims rows for a while, publishes them with confirms while
-- no transaction is open, and deletes what the broker confirmed; a claim that ran out is anybody's again.

CREATE TABLE outbox (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  message_id    uuid NOT NULL,
  routing_key   text NOT NULL,
  body          jsonb NOT NULL,
  mandatory     boolean NOT NULL DEFAULT false,
  request_id    uuid,
  created_at    timestamptz NOT NULL DEFAULT now(),
  claimed_until timestamptz NOT NULL DEFAULT '-infinity'
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500);
