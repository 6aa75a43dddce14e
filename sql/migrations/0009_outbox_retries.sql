-- A message that cannot be delivered must not stand in the way of those behind it, nor one that can never be sent.

ALTER TABLE outbox
  -- Who holds the claim: a publisher that was too slow may not delete or release what another has claimed since.
  ADD COLUMN claimed_by uuid,
  -- Failed tries; each doubles the time until the next.
  ADD COLUMN tries integer NOT NULL DEFAULT 0,
  -- Unless told otherwise a message that no queue takes comes back instead of vanishing.
  ALTER COLUMN mandatory SET DEFAULT true,
  ADD CONSTRAINT outbox_routing_key_fits CHECK (octet_length(routing_key) BETWEEN 1 AND 255),
  ADD CONSTRAINT outbox_body_fits CHECK (octet_length(body::text) <= 1048576);
