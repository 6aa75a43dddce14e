
CREATE TYPE public.account_role AS ENUM (
    'user',
    'admin'
);

CREATE TYPE public.attempt_outcome AS ENUM (
    'completed',
    'failed',
    'cancelled',
    'expired',
    'refused',
    'handed_back',
    'lost'
);

CREATE TYPE public.checkpoint_role AS ENUM (
    'state',
    'log'
);

CREATE TYPE public.job_file_role AS ENUM (
    'code',
    'data',
    'output',
    'made',
    'log',
    'error'
);

CREATE TYPE public.job_state AS ENUM (
    'uploading',
    'queued',
    'assigned',
    'running',
    'completed',
    'failed',
    'cancelled',
    'expired'
);

CREATE TYPE public.ledger_kind AS ENUM (
    'mint',
    'fee',
    'user',
    'escrow'
);

CREATE TYPE public.ledger_reason AS ENUM (
    'grant',
    'hold',
    'release',
    'pay',
    'fee',
    'correction'
);

CREATE TYPE public.watched_kind AS ENUM (
    'value',
    'removed',
    'problem'
);

CREATE FUNCTION public.account_has_a_tally() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  INSERT INTO account_tally (account_id) VALUES (NEW.id);
  RETURN NULL;
END $$;

CREATE FUNCTION public.account_has_storage() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  INSERT INTO storage (id, account_id, quota_bytes) VALUES (gen_random_uuid(), NEW.id, 10::bigint << 30);
  RETURN NULL;
END $$;

CREATE FUNCTION public.attempt_caller(token bytea, job uuid, attempt integer, attempt_token bytea) RETURNS TABLE(machine_id uuid, current boolean)
    LANGUAGE sql STABLE
    AS $$
  SELECT m.id, EXISTS (
           SELECT FROM attempt a JOIN job j ON j.id = a.job_id AND j.attempt_number = a.number
           WHERE a.job_id = job AND a.number = attempt AND a.machine_id = m.id AND a.token_hash = attempt_token
             AND a.ended_at IS NULL)
  FROM machine_caller(token) m
$$;

CREATE FUNCTION public.attempt_excludes(outcome public.attempt_outcome, ended_at timestamp with time zone, checkpoints integer) RETURNS boolean
    LANGUAGE sql STABLE
    RETURN ((((outcome)::text = 'lost'::text) AND (checkpoints = 0)) OR (((outcome)::text = ANY (ARRAY['refused'::text, 'handed_back'::text])) AND (ended_at > (now() - '00:01:00'::interval))));

CREATE TABLE public.job (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    name text NOT NULL,
    exec_file text NOT NULL,
    state public.job_state DEFAULT 'uploading'::public.job_state NOT NULL,
    cpu_cores integer NOT NULL,
    ram_mb integer NOT NULL,
    disc_mb integer NOT NULL,
    price_micro bigint NOT NULL,
    deadline timestamp with time zone,
    watched_variables text[] DEFAULT '{}'::text[] NOT NULL,
    idempotency_key text,
    request_sha256 bytea,
    attempt_number integer DEFAULT 0 NOT NULL,
    losses integer DEFAULT 0 NOT NULL,
    failure_code text,
    failure_detail text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    submitted_at timestamp with time zone,
    ended_at timestamp with time zone,
    version bigint DEFAULT 1 NOT NULL,
    rank timestamp with time zone,
    progress real,
    progress_message text,
    hand_backs integer DEFAULT 0 NOT NULL,
    request_id uuid,
    resumable boolean DEFAULT true NOT NULL,
    checkpoint_sequence integer DEFAULT 0 NOT NULL,
    checkpoint_interval_ms bigint,
    checkpoint_problem text,
    resume_r text,
    resume_architecture text,
    resume_packages text[],
    resume_until timestamp with time zone,
    resume_problem text,
    CONSTRAINT job_checkpoints_are_counted CHECK (((checkpoint_sequence >= 0) AND (checkpoint_interval_ms >= 0))),
    CONSTRAINT job_hand_backs_are_bounded CHECK (((hand_backs >= 0) AND (hand_backs <= 20))),
    CONSTRAINT job_key_has_its_request CHECK (((idempotency_key IS NULL) = (request_sha256 IS NULL))),
    CONSTRAINT job_losses_are_bounded CHECK (((losses >= 0) AND (losses <= 5))),
    CONSTRAINT job_name_fits CHECK (((octet_length(name) >= 1) AND (octet_length(name) <= 200))),
    CONSTRAINT job_needs_are_positive CHECK (((cpu_cores > 0) AND (ram_mb > 0) AND (disc_mb > 0))),
    CONSTRAINT job_price_is_an_amount CHECK (((price_micro >= 0) AND (price_micro <= '1000000000000000'::bigint))),
    CONSTRAINT job_progress_is_a_fraction CHECK (((progress >= (0)::double precision) AND (progress <= (1)::double precision))),
    CONSTRAINT job_resume_is_whole CHECK ((((resume_until IS NULL) = (resume_r IS NULL)) AND ((resume_until IS NULL) = (resume_architecture IS NULL)) AND ((resume_until IS NULL) = (resume_packages IS NULL)))),
    CONSTRAINT job_that_ended_has_an_end CHECK (((state = ANY (ARRAY['completed'::public.job_state, 'failed'::public.job_state, 'cancelled'::public.job_state, 'expired'::public.job_state])) = (ended_at IS NOT NULL))),
    CONSTRAINT job_that_failed_has_a_reason CHECK (((state = 'failed'::public.job_state) = (failure_code IS NOT NULL))),
    CONSTRAINT job_that_left_uploading_was_submitted CHECK (((submitted_at IS NOT NULL) OR (state = ANY (ARRAY['uploading'::public.job_state, 'cancelled'::public.job_state, 'expired'::public.job_state])))),
    CONSTRAINT job_that_waits_has_a_rank CHECK (((state <> 'queued'::public.job_state) OR (rank IS NOT NULL))),
    CONSTRAINT job_watches_a_bounded_number CHECK ((cardinality(watched_variables) <= 64))
)
WITH (autovacuum_vacuum_scale_factor='0.05');

CREATE TABLE public.job_file (
    job_id uuid NOT NULL,
    role public.job_file_role NOT NULL,
    path text NOT NULL,
    size_bytes bigint NOT NULL,
    inline_bytes bytea,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    account_id uuid NOT NULL,
    attempt_number integer,
    CONSTRAINT job_file_is_the_clients_or_an_attempts CHECK (((attempt_number IS NULL) = (role = ANY (ARRAY['code'::public.job_file_role, 'data'::public.job_file_role])))),
    CONSTRAINT job_file_path_fits CHECK (((octet_length(path) >= 1) AND (octet_length(path) <= 255))),
    CONSTRAINT job_file_size_is_true CHECK (((size_bytes >= 0) AND ((inline_bytes IS NULL) OR (octet_length(inline_bytes) = size_bytes))))
);

CREATE TABLE public.job_file_chunk (
    job_id uuid NOT NULL,
    role public.job_file_role NOT NULL,
    path text NOT NULL,
    "position" integer NOT NULL,
    sha256 bytea NOT NULL,
    account_id uuid NOT NULL,
    CONSTRAINT job_file_chunk_position_counts_from_zero CHECK (("position" >= 0))
);

CREATE TABLE public.watched_record (
    job_id uuid NOT NULL,
    variable text NOT NULL,
    sequence bigint NOT NULL,
    attempt_number integer NOT NULL,
    number bigint NOT NULL,
    changes bigint NOT NULL,
    changed_at timestamp with time zone NOT NULL,
    kind public.watched_kind NOT NULL,
    size_bytes bigint NOT NULL,
    inline_bytes bytea,
    words text,
    thinned boolean DEFAULT false NOT NULL,
    CONSTRAINT watched_record_counts CHECK (((sequence > 0) AND (attempt_number > 0) AND (number > 0) AND (changes >= 0))),
    CONSTRAINT watched_record_is_of_its_kind CHECK (
CASE kind
    WHEN 'value'::public.watched_kind THEN (words IS NULL)
    WHEN 'removed'::public.watched_kind THEN ((words IS NULL) AND (inline_bytes IS NULL) AND (size_bytes = 0))
    ELSE ((words IS NOT NULL) AND (inline_bytes IS NULL) AND (size_bytes = 0))
END),
    CONSTRAINT watched_record_size_is_true CHECK (((size_bytes >= 0) AND ((inline_bytes IS NULL) OR (octet_length(inline_bytes) = size_bytes))))
);

CREATE TABLE public.watched_record_chunk (
    job_id uuid NOT NULL,
    variable text NOT NULL,
    sequence bigint NOT NULL,
    "position" integer NOT NULL,
    sha256 bytea NOT NULL
);

CREATE FUNCTION public.attempt_has_named(job uuid, attempt integer, chunk bytea) RETURNS boolean
    LANGUAGE sql STABLE
    RETURN ((EXISTS (SELECT FROM ((public.job j JOIN public.job_file_chunk r ON (((r.sha256 = attempt_has_named.chunk) AND (r.account_id = j.account_id) AND (r.job_id = j.id)))) JOIN public.job_file f ON (((f.job_id = r.job_id) AND (f.role = r.role) AND (f.path = r.path) AND (f.attempt_number = attempt_has_named.attempt)))) WHERE (j.id = attempt_has_named.job))) OR (EXISTS (SELECT FROM (public.watched_record_chunk r JOIN public.watched_record p ON (((p.job_id = r.job_id) AND (p.variable = r.variable) AND (p.sequence = r.sequence)))) WHERE ((r.sha256 = attempt_has_named.chunk) AND (r.job_id = attempt_has_named.job) AND (p.attempt_number = attempt_has_named.attempt)))));

CREATE FUNCTION public.attempt_has_storage() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  INSERT INTO storage (id, job_id, attempt_number, owner_id, quota_bytes, kept_bytes)
  SELECT gen_random_uuid(), NEW.job_id, NEW.number, j.account_id, job_results_quota(s.quota_bytes),
         least((SELECT coalesce(sum(bytes), 0) FROM watched_variable w WHERE w.job_id = j.id),
               job_history_quota(job_results_quota(s.quota_bytes)))
  FROM job j JOIN storage s ON s.account_id = j.account_id WHERE j.id = NEW.job_id;
  RETURN NULL;
END $$;

CREATE FUNCTION public.attempt_pay(outcome public.attempt_outcome) RETURNS text
    LANGUAGE sql STABLE
    RETURN CASE (outcome)::text WHEN 'completed'::text THEN 'measured'::text WHEN 'failed'::text THEN 'measured'::text WHEN 'cancelled'::text THEN 'measured_until_stop'::text WHEN 'expired'::text THEN 'measured_until_stop'::text WHEN 'lost'::text THEN 'saved'::text WHEN 'handed_back'::text THEN 'saved'::text ELSE 'nothing'::text END;

CREATE FUNCTION public.attempt_requeues(outcome public.attempt_outcome) RETURNS boolean
    LANGUAGE sql STABLE
    RETURN ((outcome)::text = ANY (ARRAY['refused'::text, 'handed_back'::text, 'lost'::text]));

CREATE FUNCTION public.audit_origin(address inet) RETURNS inet
    LANGUAGE sql IMMUTABLE
    RETURN CASE WHEN (family(address) = 6) THEN (network(set_masklen(address, 64)))::inet ELSE address END;

CREATE FUNCTION public.chunk_charge(size_bytes bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE
    RETURN GREATEST(size_bytes, (4096)::bigint);

CREATE FUNCTION public.chunk_is_looked_at_soon() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  UPDATE blob b SET check_after = now()
  FROM (SELECT b.sha256 FROM (SELECT DISTINCT sha256 FROM gone) g JOIN blob b ON b.sha256 = g.sha256
        WHERE b.check_after > now() ORDER BY b.sha256 FOR NO KEY UPDATE OF b SKIP LOCKED) c
  WHERE b.sha256 = c.sha256;
  RETURN NULL;
END $$;

CREATE FUNCTION public.cpu_ms_bought(price_micro bigint, price_micro_per_cpu_second bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE
    RETURN CASE WHEN (price_micro_per_cpu_second > 0) THEN (trunc((((price_micro)::numeric * (1000)::numeric) / (price_micro_per_cpu_second)::numeric)))::bigint ELSE NULL::bigint END;

CREATE FUNCTION public.cpu_ms_counted(cpu_ms bigint, accepted_at timestamp with time zone, cpu_cores integer) RETURNS bigint
    LANGUAGE sql STABLE
    RETURN CASE WHEN (accepted_at IS NULL) THEN (0)::bigint ELSE LEAST(cpu_ms, (((EXTRACT(epoch FROM (now() - accepted_at)) * (1000)::numeric) * (cpu_cores)::numeric))::bigint) END;

CREATE FUNCTION public.job_checkpoints_quota(quota_bytes bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE
    RETURN (quota_bytes / 2);

CREATE FUNCTION public.job_file_charge(attempt_number integer, size_bytes bigint, inline_bytes bytea) RETURNS bigint
    LANGUAGE sql IMMUTABLE
    RETURN CASE WHEN ((attempt_number IS NULL) AND (inline_bytes IS NULL)) THEN (0)::bigint ELSE public.chunk_charge(size_bytes) END;

CREATE FUNCTION public.job_file_is_charged() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
  sign integer := CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END;
BEGIN
  PERFORM 1 FROM storage s JOIN (SELECT DISTINCT job_id, attempt_number FROM changed WHERE attempt_number IS NOT NULL) c
      ON c.job_id = s.job_id AND c.attempt_number = s.attempt_number
    WHERE s.owner_id IS NOT NULL ORDER BY s.id FOR NO KEY UPDATE OF s;
  UPDATE storage s SET kept_bytes = greatest(0, s.kept_bytes + sign * c.bytes)
  FROM (SELECT job_id, attempt_number, sum(job_file_charge(attempt_number, size_bytes, inline_bytes)) AS bytes
        FROM changed WHERE attempt_number IS NOT NULL GROUP BY 1, 2) c
  WHERE s.job_id = c.job_id AND s.attempt_number = c.attempt_number AND s.owner_id IS NOT NULL;
  PERFORM 1 FROM storage s JOIN (SELECT DISTINCT account_id FROM changed) c ON c.account_id = s.account_id
    ORDER BY s.account_id FOR NO KEY UPDATE OF s;
  UPDATE storage s SET used_bytes = s.used_bytes + sign * c.bytes
  FROM (SELECT account_id, sum(job_file_charge(attempt_number, size_bytes, inline_bytes)) AS bytes FROM changed GROUP BY 1) c
  WHERE s.account_id = c.account_id AND c.bytes <> 0;
  RETURN NULL;
END $$;

CREATE FUNCTION public.job_history_quota(results_quota_bytes bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE
    RETURN (results_quota_bytes / 2);

CREATE FUNCTION public.job_is_late(deadline timestamp with time zone) RETURNS boolean
    LANGUAGE sql STABLE
    RETURN ((deadline IS NOT NULL) AND (deadline <= now()));

CREATE FUNCTION public.job_is_tallied() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
  existed boolean := TG_OP <> 'INSERT';
  exists boolean := TG_OP <> 'DELETE';
  uploaded boolean := existed AND OLD.state = 'uploading';
  uploads boolean := exists AND NEW.state = 'uploading';
  submitted boolean := exists AND NEW.state = 'queued' AND (NOT existed OR uploaded);
BEGIN
  UPDATE account_tally t
  SET jobs = t.jobs + exists::int - existed::int,
      uploading_jobs = t.uploading_jobs + uploads::int - uploaded::int,
      submissions = CASE WHEN submitted THEN submissions_within(t.hour, t.submissions) + 1 ELSE t.submissions END,
      hour = CASE WHEN submitted THEN date_trunc('hour', now()) ELSE t.hour END
  WHERE t.account_id = CASE WHEN exists THEN NEW.account_id ELSE OLD.account_id END;
  RETURN NULL;
END $$;

CREATE FUNCTION public.job_rank(submitted_at timestamp with time zone, price_micro bigint) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    RETURN (submitted_at - make_interval(secs => LEAST((3600)::double precision, (((60)::double precision * ln(((1)::double precision + ((price_micro)::double precision / ('1000000'::numeric)::double precision)))) / ln((2)::double precision)))));

CREATE FUNCTION public.job_results_quota(quota_bytes bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE
    RETURN (quota_bytes / 4);

CREATE FUNCTION public.job_small_files(job uuid, files_max integer, bytes_max integer) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$
  SELECT CASE WHEN count(*) BETWEEN 1 AND files_max AND count(inline_bytes) = count(*) AND sum(size_bytes) <= bytes_max
         THEN jsonb_agg(jsonb_build_object('path', path, 'base64', translate(encode(inline_bytes, 'base64'), E'\n', ''))) END
  FROM job_file WHERE job_id = job AND role IN ('code', 'data')
$$;

CREATE FUNCTION public.job_state_check() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  IF NOT job_state_may_move(OLD.state, NEW.state) THEN
    RAISE EXCEPTION 'a job may not move from % to %', OLD.state, NEW.state
      USING ERRCODE = 'check_violation', CONSTRAINT = 'job_state_moves', TABLE = 'job';
  END IF;
  NEW.version := OLD.version + 1;
  RETURN NEW;
END $$;

CREATE FUNCTION public.job_state_may_move(before public.job_state, after public.job_state) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    RETURN CASE before WHEN 'uploading'::public.job_state THEN (after = ANY (ARRAY['queued'::public.job_state, 'cancelled'::public.job_state, 'expired'::public.job_state])) WHEN 'queued'::public.job_state THEN (after = ANY (ARRAY['assigned'::public.job_state, 'cancelled'::public.job_state, 'expired'::public.job_state])) WHEN 'assigned'::public.job_state THEN (after = ANY (ARRAY['queued'::public.job_state, 'running'::public.job_state, 'failed'::public.job_state, 'cancelled'::public.job_state, 'expired'::public.job_state])) WHEN 'running'::public.job_state THEN (after = ANY (ARRAY['queued'::public.job_state, 'completed'::public.job_state, 'failed'::public.job_state, 'cancelled'::public.job_state, 'expired'::public.job_state])) ELSE false END;

CREATE FUNCTION public.kept_records_of(before jsonb, watched jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    RETURN CASE WHEN (before IS NULL) THEN watched ELSE (SELECT COALESCE(jsonb_object_agg(w.key, LEAST((w.value)::bigint, COALESCE(((kept_records_of.before ->> w.key))::bigint, (0)::bigint))), '{}'::jsonb) AS "coalesce" FROM jsonb_each_text(kept_records_of.watched) w(key, value)) END;

CREATE FUNCTION public.ledger_balance_is_derived() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  RAISE EXCEPTION 'a balance changes only by ledger entries'
    USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_balance_is_derived', TABLE = 'ledger_account';
END $$;

CREATE FUNCTION public.ledger_entry_apply() RETURNS trigger
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS $$
DECLARE
  wrong uuid;
BEGIN
  SELECT transfer_id INTO wrong FROM fresh GROUP BY transfer_id HAVING sum(amount_micro) <> 0 LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'the entries of transfer % do not sum to zero', wrong
      USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_transfer_sums_to_zero', TABLE = 'ledger_entry';
  END IF;
  SELECT f.transfer_id INTO wrong
    FROM (SELECT transfer_id, count(*) AS entries FROM fresh GROUP BY 1) f
    CROSS JOIN LATERAL (SELECT count(*) AS entries FROM ledger_entry e WHERE e.transfer_id = f.transfer_id) e
    WHERE e.entries <> f.entries LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'transfer % was made by an earlier statement and takes no more entries', wrong
      USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_transfer_is_final', TABLE = 'ledger_entry';
  END IF;
  -- Locked in one order everywhere, so that two transfers over the same accounts wait instead of deadlocking.
  PERFORM 1 FROM (
      SELECT ledger_account_id AS id FROM fresh
      UNION
      SELECT e.holder_id FROM fresh f CROSS JOIN LATERAL (
        SELECT holder_id FROM ledger_account e WHERE e.id = f.ledger_account_id AND e.holder_id IS NOT NULL) e
      ORDER BY 1) f
    CROSS JOIN LATERAL (
      SELECT FROM ledger_account a WHERE a.id = f.id AND a.kind IN ('user', 'escrow') FOR NO KEY UPDATE) a;
  UPDATE ledger_account a SET balance_micro = a.balance_micro + s.amount, held_micro = a.held_micro + s.held
    FROM (SELECT id, sum(amount)::bigint AS amount, sum(held)::bigint AS held FROM (
            SELECT ledger_account_id AS id, amount_micro AS amount, 0 AS held FROM fresh
            UNION ALL
            SELECT e.holder_id, 0, f.amount_micro FROM fresh f CROSS JOIN LATERAL (
              SELECT holder_id FROM ledger_account e WHERE e.id = f.ledger_account_id AND e.holder_id IS NOT NULL) e
          ) each GROUP BY 1) s
    WHERE a.id = s.id AND a.kind IN ('user', 'escrow');
  RETURN NULL;
END $$;

CREATE FUNCTION public.ledger_is_append_only() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
  RAISE EXCEPTION 'the ledger is append-only: write a correction instead'
    USING ERRCODE = 'check_violation', CONSTRAINT = 'ledger_is_append_only', TABLE = TG_TABLE_NAME;
END $$;

CREATE FUNCTION public.machine_caller(token bytea) RETURNS TABLE(id uuid, account_id uuid)
    LANGUAGE sql STABLE
    AS $$
  SELECT m.id, m.account_id
  FROM login_token t JOIN machine m ON m.id = t.machine_id JOIN account a ON a.id = m.account_id
  WHERE t.token_hash = token AND t.expires_at > now() AND m.removed_at IS NULL AND m.banned_at IS NULL AND a.disabled_at IS NULL
$$;

CREATE FUNCTION public.r_minor_version(version text) RETURNS text
    LANGUAGE sql IMMUTABLE
    RETURN ((split_part(version, '.'::text, 1) || '.'::text) || split_part(version, '.'::text, 2));

CREATE FUNCTION public.machine_can_resume(r_version text, architecture text, packages text[], r_version_there text, architecture_there text, packages_there text[]) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    RETURN ((public.r_minor_version(r_version) = public.r_minor_version(r_version_there)) AND (architecture = architecture_there) AND (packages <@ packages_there));

CREATE FUNCTION public.machine_session_is_open(ended_at timestamp with time zone, taking_jobs boolean, seen_at timestamp with time zone, lease_ms integer) RETURNS boolean
    LANGUAGE sql STABLE
    RETURN ((ended_at IS NULL) AND taking_jobs AND (seen_at > (now() - make_interval(secs => (((lease_ms)::numeric / 2000.0))::double precision))));

CREATE FUNCTION public.paid_seconds_min() RETURNS bigint
    LANGUAGE sql IMMUTABLE
    RETURN (1)::bigint;

CREATE FUNCTION public.machine_suits(cpu_cores integer, ram_mb integer, disc_mb integer, price_micro bigint, cpu_cores_there integer, ram_mb_there integer, disc_mb_there integer, price_micro_per_cpu_second bigint, excluded boolean, reserved boolean) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    RETURN ((cpu_cores <= cpu_cores_there) AND (ram_mb <= ram_mb_there) AND (disc_mb <= disc_mb_there) AND (price_micro_per_cpu_second <= ((price_micro / cpu_cores) / public.paid_seconds_min())) AND (NOT reserved) AND (NOT excluded));

CREATE FUNCTION public.record_is_superseded(kept_records jsonb, variable text, number bigint) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    RETURN ((kept_records IS NOT NULL) AND (number > COALESCE(((kept_records ->> variable))::bigint, (0)::bigint)));

CREATE FUNCTION public.storage_caller(token bytea, job uuid, attempt integer, attempt_token bytea, for_checkpoint boolean) RETURNS TABLE(id uuid, stale boolean)
    LANGUAGE sql STABLE
    AS $$
  SELECT s.id, false FROM user_caller(token) c JOIN storage s ON s.account_id = c.id WHERE job IS NULL
  UNION ALL
  SELECT s.id, NOT c.current FROM attempt_caller(token, job, attempt, attempt_token) c
  LEFT JOIN storage s ON c.current AND s.job_id = job
    AND CASE WHEN for_checkpoint THEN s.attempt_number IS NULL ELSE s.attempt_number = attempt END
  WHERE job IS NOT NULL
$$;

CREATE FUNCTION public.storage_owner_is_charged() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
  charge bigint := CASE TG_OP WHEN 'UPDATE' THEN NEW.used_bytes ELSE 0 END - OLD.used_bytes;
BEGIN
  IF OLD.attempt_number IS NULL THEN
    UPDATE storage SET checkpoint_bytes = checkpoint_bytes + charge WHERE account_id = OLD.owner_id;
  ELSE
    UPDATE storage SET used_bytes = used_bytes + charge WHERE account_id = OLD.owner_id;
  END IF;
  RETURN NULL;
END $$;

CREATE FUNCTION public.submissions_within(hour timestamp with time zone, submissions integer) RETURNS integer
    LANGUAGE sql STABLE
    RETURN CASE WHEN (hour = date_trunc('hour'::text, now())) THEN submissions ELSE 0 END;

CREATE FUNCTION public.user_caller(token bytea) RETURNS TABLE(id uuid, role public.account_role)
    LANGUAGE sql STABLE
    AS $$
  SELECT a.id, a.role FROM login_token t JOIN account a ON a.id = t.account_id
  WHERE t.token_hash = token AND t.machine_id IS NULL AND t.expires_at > now() AND a.disabled_at IS NULL
$$;

CREATE FUNCTION public.utc_text(moment timestamp with time zone) RETURNS text
    LANGUAGE sql STABLE STRICT
    RETURN to_char((moment AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'::text);

CREATE FUNCTION public.watched_record_charge(size_bytes bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE
    RETURN (size_bytes + 256);

CREATE FUNCTION public.watched_variable_is_charged() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
  watched watched_variable := CASE TG_OP WHEN 'INSERT' THEN NEW ELSE OLD END;
  charge bigint := CASE TG_OP WHEN 'INSERT' THEN NEW.bytes WHEN 'UPDATE' THEN NEW.bytes - OLD.bytes ELSE -OLD.bytes END;
BEGIN
  UPDATE storage s SET kept_bytes = greatest(0, s.kept_bytes + charge)
  FROM job j WHERE j.id = watched.job_id AND s.job_id = j.id AND s.attempt_number = j.attempt_number AND s.owner_id IS NOT NULL;
  UPDATE storage SET used_bytes = used_bytes + charge WHERE account_id = watched.account_id;
  RETURN NULL;
END $$;

CREATE TABLE public.account (
    id uuid NOT NULL,
    email text NOT NULL,
    password_hash text NOT NULL,
    role public.account_role DEFAULT 'user'::public.account_role NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    disabled_at timestamp with time zone,
    registered_from inet,
    ending boolean DEFAULT false NOT NULL,
    CONSTRAINT account_email_fits CHECK (((octet_length(email) >= 3) AND (octet_length(email) <= 254)))
);

CREATE TABLE public.account_tally (
    account_id uuid NOT NULL,
    jobs integer DEFAULT 0 NOT NULL,
    uploading_jobs integer DEFAULT 0 NOT NULL,
    hour timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    submissions integer DEFAULT 0 NOT NULL,
    CONSTRAINT account_tally_counts CHECK (((jobs >= 0) AND ((uploading_jobs >= 0) AND (uploading_jobs <= jobs)) AND (submissions >= 0)))
)
WITH (fillfactor='50');

CREATE TABLE public.attempt (
    job_id uuid NOT NULL,
    number integer NOT NULL,
    machine_id uuid NOT NULL,
    machine_session_id uuid NOT NULL,
    token_hash bytea,
    assigned_at timestamp with time zone DEFAULT now() NOT NULL,
    accepted_at timestamp with time zone,
    ended_at timestamp with time zone,
    outcome public.attempt_outcome,
    resumed_from integer,
    cpu_ms bigint DEFAULT 0 NOT NULL,
    paid_micro bigint DEFAULT 0 NOT NULL,
    price_micro_per_cpu_second bigint DEFAULT 0 NOT NULL,
    checkpoints integer DEFAULT 0 NOT NULL,
    skipped jsonb DEFAULT '[]'::jsonb NOT NULL,
    cpu_ms_before bigint DEFAULT 0 NOT NULL,
    saved_cpu_ms bigint DEFAULT 0 NOT NULL,
    leave_by timestamp with time zone,
    kept_records jsonb,
    CONSTRAINT attempt_amounts_are_not_negative CHECK (((cpu_ms >= 0) AND (paid_micro >= 0))),
    CONSTRAINT attempt_checkpoints_are_not_negative CHECK (((checkpoints >= 0) AND (resumed_from >= 0) AND (cpu_ms_before >= 0) AND (saved_cpu_ms >= 0))),
    CONSTRAINT attempt_counts_from_one CHECK ((number > 0)),
    CONSTRAINT attempt_price_is_not_negative CHECK ((price_micro_per_cpu_second >= 0)),
    CONSTRAINT attempt_that_ended_has_an_outcome CHECK (((ended_at IS NULL) = (outcome IS NULL))),
    CONSTRAINT attempt_that_was_accepted_has_a_token CHECK (((accepted_at IS NULL) OR (token_hash IS NOT NULL))),
    CONSTRAINT attempt_token_is_sha256 CHECK ((octet_length(token_hash) = 32))
);

CREATE TABLE public.checkpoint (
    job_id uuid NOT NULL,
    sequence integer NOT NULL,
    attempt_number integer NOT NULL,
    number integer NOT NULL,
    format integer NOT NULL,
    r_version text NOT NULL,
    architecture text NOT NULL,
    packages text[] NOT NULL,
    state_bytes bigint NOT NULL,
    size_bytes bigint NOT NULL,
    sent_bytes bigint NOT NULL,
    pause_ms double precision NOT NULL,
    interval_ms bigint NOT NULL,
    "position" jsonb NOT NULL,
    attempt_cpu_ms bigint NOT NULL,
    cpu_ms bigint NOT NULL,
    taken_at timestamp with time zone NOT NULL,
    progress real,
    progress_message text,
    watched jsonb NOT NULL,
    log_left_out bigint NOT NULL,
    unusable_because text,
    recorded_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT checkpoint_amounts_are_not_negative CHECK (((state_bytes >= 0) AND (size_bytes >= 0) AND (sent_bytes >= 0) AND (pause_ms >= (0)::double precision) AND (interval_ms >= 0) AND (attempt_cpu_ms >= 0) AND (cpu_ms >= attempt_cpu_ms) AND (log_left_out >= 0))),
    CONSTRAINT checkpoint_counts_from_one CHECK (((sequence > 0) AND (number > 0) AND (format > 0))),
    CONSTRAINT checkpoint_progress_is_a_fraction CHECK (((progress >= (0)::double precision) AND (progress <= (1)::double precision)))
);

CREATE TABLE public.ledger_account (
    id uuid NOT NULL,
    kind public.ledger_kind NOT NULL,
    account_id uuid,
    job_id uuid,
    balance_micro bigint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    holder_id uuid,
    held_micro bigint DEFAULT 0 NOT NULL,
    CONSTRAINT ledger_account_has_the_right_owner CHECK (
CASE kind
    WHEN 'user'::public.ledger_kind THEN ((account_id IS NOT NULL) AND (job_id IS NULL))
    WHEN 'escrow'::public.ledger_kind THEN ((account_id IS NULL) AND (job_id IS NOT NULL))
    ELSE ((account_id IS NULL) AND (job_id IS NULL))
END),
    CONSTRAINT ledger_balance_is_not_negative CHECK ((balance_micro >= 0)),
    CONSTRAINT ledger_held_is_not_negative CHECK (((held_micro >= 0) AND ((held_micro = 0) OR (kind = 'user'::public.ledger_kind)))),
    CONSTRAINT ledger_holder_is_an_escrows CHECK (((holder_id IS NULL) OR (kind = 'escrow'::public.ledger_kind))),
    CONSTRAINT ledger_mint_and_fee_store_no_balance CHECK (((kind = ANY (ARRAY['user'::public.ledger_kind, 'escrow'::public.ledger_kind])) OR (balance_micro = 0)))
);

CREATE VIEW public.assignment AS
 SELECT a.job_id,
    a.number,
    a.machine_session_id,
    a.token_hash,
    a.ended_at,
    (a.accepted_at IS NOT NULL) AS accepted,
    (a.leave_by IS NOT NULL) AS leaving,
    j.exec_file,
    j.cpu_cores,
    j.ram_mb,
    j.disc_mb,
    public.cpu_ms_bought(COALESCE(e.balance_micro, (0)::bigint), a.price_micro_per_cpu_second) AS cpu_ms_max,
    public.utc_text(j.deadline) AS deadline,
    j.watched_variables,
    j.request_id,
    j.resumable,
    (j.resumable AND (EXISTS ( SELECT
           FROM public.checkpoint c
          WHERE ((c.job_id = j.id) AND (c.unusable_because IS NULL))))) AS resume
   FROM ((public.attempt a
     JOIN public.job j ON (((j.id = a.job_id) AND (j.attempt_number = a.number))))
     LEFT JOIN public.ledger_account e ON (((e.job_id = j.id) AND (e.kind = 'escrow'::public.ledger_kind))));

CREATE TABLE public.audit_event (
    id bigint NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    action text NOT NULL,
    account_id uuid,
    address inet,
    subject text,
    detail jsonb DEFAULT '{}'::jsonb NOT NULL,
    request_id uuid,
    count integer DEFAULT 1 NOT NULL,
    CONSTRAINT audit_event_detail_fits CHECK ((octet_length((detail)::text) <= 4096))
);

ALTER TABLE public.audit_event ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.audit_event_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.blob (
    sha256 bytea NOT NULL,
    size_bytes integer NOT NULL,
    stored_bytes integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    generation uuid NOT NULL,
    check_after timestamp with time zone DEFAULT (now() + '1 day'::interval) NOT NULL,
    CONSTRAINT blob_is_one_chunk CHECK ((((size_bytes >= 0) AND (size_bytes <= 1048576)) AND (stored_bytes > 0))),
    CONSTRAINT blob_name_is_sha256 CHECK ((octet_length(sha256) = 32))
);

CREATE TABLE public.blob_presence (
    storage_id uuid NOT NULL,
    sha256 bytea NOT NULL,
    pinned_until timestamp with time zone NOT NULL
);

CREATE TABLE public.blob_store (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    the_only boolean DEFAULT true NOT NULL,
    CONSTRAINT blob_store_the_only_check CHECK (the_only)
);

CREATE TABLE public.checkpoint_chunk (
    job_id uuid NOT NULL,
    sequence integer NOT NULL,
    role public.checkpoint_role NOT NULL,
    "position" integer NOT NULL,
    sha256 bytea NOT NULL,
    CONSTRAINT checkpoint_chunk_position_counts_from_zero CHECK (("position" >= 0))
);

CREATE TABLE public.machine (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    name text NOT NULL,
    cpu_cores integer NOT NULL,
    ram_mb integer NOT NULL,
    disc_mb integer NOT NULL,
    price_micro_per_cpu_second bigint NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    removed_at timestamp with time zone,
    public_key bytea,
    paused boolean DEFAULT false NOT NULL,
    banned_at timestamp with time zone,
    ban_reason text,
    token_renewed_at timestamp with time zone,
    r_version text DEFAULT ''::text NOT NULL,
    architecture text DEFAULT ''::text NOT NULL,
    packages text[] DEFAULT '{}'::text[] NOT NULL,
    CONSTRAINT machine_ban_has_a_reason CHECK (((banned_at IS NULL) = (ban_reason IS NULL))),
    CONSTRAINT machine_ban_reason_fits CHECK (((octet_length(ban_reason) >= 1) AND (octet_length(ban_reason) <= 200))),
    CONSTRAINT machine_has_something_to_lend CHECK (((cpu_cores > 0) AND (ram_mb > 0) AND (disc_mb > 0))),
    CONSTRAINT machine_name_fits CHECK (((octet_length(name) >= 1) AND (octet_length(name) <= 200))),
    CONSTRAINT machine_packages_are_bounded CHECK ((cardinality(packages) <= 3000)),
    CONSTRAINT machine_price_is_not_negative CHECK ((price_micro_per_cpu_second >= 0)),
    CONSTRAINT machine_public_key_is_ed25519 CHECK ((octet_length(public_key) = 32))
);

CREATE VIEW public.checkpoint_due AS
 SELECT c.job_id,
    c.sequence,
    c.attempt_number,
    m.account_id AS earner_id,
        CASE
            WHEN (m.account_id = j.account_id) THEN (0)::numeric
            ELSE GREATEST((0)::numeric, (trunc((((c.attempt_cpu_ms)::numeric * (a.price_micro_per_cpu_second)::numeric) / (1000)::numeric)) - (a.paid_micro)::numeric))
        END AS due_micro
   FROM (((public.checkpoint c
     JOIN public.job j ON ((j.id = c.job_id)))
     JOIN public.attempt a ON (((a.job_id = c.job_id) AND (a.number = c.attempt_number) AND (public.attempt_pay(a.outcome) = 'saved'::text))))
     JOIN public.machine m ON ((m.id = a.machine_id)));

CREATE TABLE public.heartbeat (
    at timestamp with time zone NOT NULL,
    machine_id uuid NOT NULL,
    machine_session_id uuid NOT NULL,
    cpu_used real NOT NULL,
    ram_mb_used real NOT NULL,
    disc_mb_used real NOT NULL,
    network_kb_per_s real NOT NULL,
    jobs smallint NOT NULL,
    user_present boolean NOT NULL
);

CREATE TABLE public.heartbeat_minute (
    minute timestamp with time zone NOT NULL,
    machine_id uuid NOT NULL,
    beats integer NOT NULL,
    cpu_used_mean real NOT NULL,
    cpu_used_min real NOT NULL,
    cpu_used_max real NOT NULL,
    ram_mb_used_mean real NOT NULL,
    ram_mb_used_min real NOT NULL,
    ram_mb_used_max real NOT NULL,
    disc_mb_used_mean real NOT NULL,
    disc_mb_used_min real NOT NULL,
    disc_mb_used_max real NOT NULL,
    network_kb_per_s_mean real NOT NULL,
    network_kb_per_s_min real NOT NULL,
    network_kb_per_s_max real NOT NULL,
    jobs_mean real NOT NULL,
    user_present_share real NOT NULL
);

CREATE TABLE public.invitation (
    code_hash bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    used_by uuid,
    CONSTRAINT invitation_hash_is_sha256 CHECK ((octet_length(code_hash) = 32))
);

CREATE VIEW public.job_exclusion AS
 SELECT attempt.job_id,
    attempt.machine_id
   FROM public.attempt
  WHERE public.attempt_excludes(attempt.outcome, attempt.ended_at, attempt.checkpoints)
UNION ALL
 SELECT j.id AS job_id,
    m.id AS machine_id
   FROM (public.job j
     CROSS JOIN public.machine m)
  WHERE ((j.resume_until > now()) AND (NOT public.machine_can_resume(j.resume_r, j.resume_architecture, j.resume_packages, m.r_version, m.architecture, m.packages)));

CREATE VIEW public.job_listed AS
 SELECT id,
    account_id,
    name,
    exec_file,
    state,
    cpu_cores,
    ram_mb,
    disc_mb,
    price_micro,
    public.utc_text(deadline) AS deadline,
    public.utc_text(created_at) AS created_at,
    public.utc_text(submitted_at) AS submitted_at,
    public.utc_text(ended_at) AS ended_at,
    attempt_number,
    failure_code,
    version,
    progress
   FROM public.job;

CREATE VIEW public.job_shown AS
 SELECT id,
    account_id,
    name,
    exec_file,
    state,
    cpu_cores,
    ram_mb,
    disc_mb,
    price_micro,
    public.utc_text(deadline) AS deadline,
    watched_variables,
    public.utc_text(created_at) AS created_at,
    public.utc_text(submitted_at) AS submitted_at,
    public.utc_text(ended_at) AS ended_at,
    attempt_number,
    failure_code,
    failure_detail,
    version,
    progress,
    progress_message,
    resumable,
    checkpoint_interval_ms,
    checkpoint_problem,
    ( SELECT public.utc_text(c.taken_at) AS utc_text
           FROM public.checkpoint c
          WHERE ((c.job_id = job.id) AND (c.unusable_because IS NULL) AND (job.ended_at IS NULL))
          ORDER BY c.sequence DESC
         LIMIT 1) AS checkpoint_at,
        CASE
            WHEN ((state = 'queued'::public.job_state) AND (resume_until > now())) THEN public.utc_text(resume_until)
            ELSE NULL::text
        END AS resume_until,
    resume_problem
   FROM public.job;

CREATE TABLE public.ledger_entry (
    transfer_id uuid NOT NULL,
    ledger_account_id uuid NOT NULL,
    amount_micro bigint NOT NULL,
    CONSTRAINT ledger_entry_moves_something CHECK ((amount_micro <> 0))
);

CREATE TABLE public.ledger_transfer (
    id uuid NOT NULL,
    idempotency_key text NOT NULL,
    reason public.ledger_reason NOT NULL,
    job_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.login_origin (
    account_id uuid NOT NULL,
    address inet NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.login_token (
    token_hash bytea NOT NULL,
    account_id uuid NOT NULL,
    machine_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT login_token_expires_later CHECK ((expires_at > created_at)),
    CONSTRAINT login_token_hash_is_sha256 CHECK ((octet_length(token_hash) = 32))
);

CREATE TABLE public.machine_session (
    id uuid NOT NULL,
    machine_id uuid NOT NULL,
    market_id uuid NOT NULL,
    taking_jobs boolean DEFAULT true NOT NULL,
    cpu_cores_free integer NOT NULL,
    ram_mb_free integer NOT NULL,
    disc_mb_free integer NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    seen_at timestamp with time zone DEFAULT now() NOT NULL,
    ended_at timestamp with time zone,
    connection_id uuid,
    lease_ms integer DEFAULT 30000 NOT NULL,
    price_micro_per_cpu_second bigint DEFAULT 0 NOT NULL,
    reserved_for uuid,
    evicted boolean DEFAULT false NOT NULL,
    CONSTRAINT machine_session_is_never_over_capacity CHECK (((cpu_cores_free >= 0) AND (ram_mb_free >= 0) AND (disc_mb_free >= 0))),
    CONSTRAINT machine_session_lease_is_positive CHECK ((lease_ms > 0))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.05');

CREATE VIEW public.machine_shown AS
 SELECT m.id,
    m.account_id,
    m.name,
    m.cpu_cores,
    m.ram_mb,
    m.disc_mb,
    m.price_micro_per_cpu_second,
    public.utc_text(m.created_at) AS created_at,
    public.utc_text(s.seen_at) AS seen_at,
        CASE
            WHEN (m.banned_at IS NOT NULL) THEN 'banned'::text
            WHEN (s.id IS NULL) THEN 'offline'::text
            WHEN (EXISTS ( SELECT
               FROM public.attempt a
              WHERE ((a.machine_session_id = s.id) AND (a.ended_at IS NULL)))) THEN 'busy'::text
            WHEN (s.taking_jobs AND (NOT m.paused)) THEN 'idle'::text
            ELSE 'paused'::text
        END AS state,
    m.ban_reason
   FROM (public.machine m
     LEFT JOIN public.machine_session s ON (((s.machine_id = m.id) AND (s.ended_at IS NULL))))
  WHERE (m.removed_at IS NULL);

CREATE TABLE public.outbox (
    id bigint NOT NULL,
    message_id uuid NOT NULL,
    routing_key text NOT NULL,
    body jsonb NOT NULL,
    mandatory boolean DEFAULT true NOT NULL,
    request_id uuid,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    claimed_until timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    claimed_by uuid,
    tries integer DEFAULT 0 NOT NULL,
    CONSTRAINT outbox_body_fits CHECK ((octet_length((body)::text) <= 1048576)),
    CONSTRAINT outbox_routing_key_fits CHECK (((octet_length(routing_key) >= 1) AND (octet_length(routing_key) <= 255)))
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_threshold='500');

ALTER TABLE public.outbox ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.outbox_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.rate_counter (
    name text NOT NULL,
    count integer NOT NULL,
    most integer NOT NULL,
    ends_at timestamp with time zone NOT NULL,
    CONSTRAINT rate_counter_is_within_its_limit CHECK (((count >= 0) AND (count <= most)))
)
WITH (fillfactor='70');

CREATE TABLE public.schema_migration (
    number integer NOT NULL,
    name text NOT NULL,
    sha256 bytea NOT NULL,
    applied_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.settlement (
    job_id uuid NOT NULL,
    attempt_number integer NOT NULL,
    machine_id uuid NOT NULL,
    token_hash bytea NOT NULL,
    owner_id uuid NOT NULL,
    earner_id uuid NOT NULL,
    cpu_ms bigint NOT NULL,
    cpu_ms_max bigint NOT NULL,
    price_micro_per_cpu_second bigint NOT NULL,
    settle_by timestamp with time zone NOT NULL,
    CONSTRAINT settlement_amounts_are_not_negative CHECK (((cpu_ms >= 0) AND (cpu_ms_max >= 0) AND (price_micro_per_cpu_second > 0)))
);

CREATE TABLE public.storage (
    id uuid NOT NULL,
    account_id uuid,
    job_id uuid,
    attempt_number integer,
    used_bytes bigint DEFAULT 0 NOT NULL,
    quota_bytes bigint NOT NULL,
    owner_id uuid,
    kept_bytes bigint DEFAULT 0 NOT NULL,
    checkpoint_bytes bigint DEFAULT 0 NOT NULL,
    CONSTRAINT checkpoints_are_within_quota CHECK (((account_id IS NULL) OR ((checkpoint_bytes >= 0) AND (checkpoint_bytes <= quota_bytes)))),
    CONSTRAINT checkpoints_are_within_their_share CHECK (((job_id IS NULL) OR (attempt_number IS NOT NULL) OR ((used_bytes >= 0) AND (used_bytes <= quota_bytes)))),
    CONSTRAINT results_are_within_their_share CHECK (((attempt_number IS NULL) OR ((used_bytes >= 0) AND (kept_bytes >= 0) AND ((used_bytes + kept_bytes) <= quota_bytes)))),
    CONSTRAINT storage_has_one_owner CHECK ((((account_id IS NULL) <> (job_id IS NULL)) AND ((attempt_number IS NULL) OR (job_id IS NOT NULL)))),
    CONSTRAINT storage_is_never_over_quota CHECK (((account_id IS NULL) OR ((used_bytes >= 0) AND (used_bytes <= quota_bytes)))),
    CONSTRAINT storage_owner_is_an_attempts CHECK (((owner_id IS NULL) OR (job_id IS NOT NULL)))
);

CREATE TABLE public.storage_released (
    storage_id uuid NOT NULL
);

CREATE TABLE public.watched_variable (
    job_id uuid NOT NULL,
    variable text NOT NULL,
    account_id uuid NOT NULL,
    newest_sequence bigint NOT NULL,
    newest_attempt integer NOT NULL,
    newest_number bigint NOT NULL,
    newest_at timestamp with time zone NOT NULL,
    live_sequence bigint NOT NULL,
    records bigint NOT NULL,
    bytes bigint NOT NULL,
    CONSTRAINT watched_variable_counts CHECK (((newest_sequence > 0) AND (newest_attempt > 0) AND (newest_number > 0) AND ((live_sequence >= 0) AND (live_sequence <= newest_sequence)) AND (records >= 0) AND (bytes >= 0))),
    CONSTRAINT watched_variable_fits CHECK (((octet_length(variable) >= 1) AND (octet_length(variable) <= 200)))
)
WITH (fillfactor='50');

ALTER TABLE ONLY public.account
    ADD CONSTRAINT account_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.account_tally
    ADD CONSTRAINT account_tally_pkey PRIMARY KEY (account_id);

ALTER TABLE ONLY public.attempt
    ADD CONSTRAINT attempt_pkey PRIMARY KEY (job_id, number);

ALTER TABLE ONLY public.audit_event
    ADD CONSTRAINT audit_event_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.blob
    ADD CONSTRAINT blob_pkey PRIMARY KEY (sha256);

ALTER TABLE ONLY public.blob_presence
    ADD CONSTRAINT blob_presence_pkey PRIMARY KEY (storage_id, sha256);

ALTER TABLE ONLY public.blob_store
    ADD CONSTRAINT blob_store_pkey PRIMARY KEY (the_only);

ALTER TABLE ONLY public.checkpoint_chunk
    ADD CONSTRAINT checkpoint_chunk_pkey PRIMARY KEY (job_id, sequence, role, "position");

ALTER TABLE ONLY public.checkpoint
    ADD CONSTRAINT checkpoint_is_recorded_once UNIQUE (job_id, attempt_number, number);

ALTER TABLE ONLY public.checkpoint
    ADD CONSTRAINT checkpoint_pkey PRIMARY KEY (job_id, sequence);

ALTER TABLE ONLY public.heartbeat_minute
    ADD CONSTRAINT heartbeat_minute_pkey PRIMARY KEY (machine_id, minute);

ALTER TABLE ONLY public.invitation
    ADD CONSTRAINT invitation_pkey PRIMARY KEY (code_hash);

ALTER TABLE ONLY public.job_file_chunk
    ADD CONSTRAINT job_file_chunk_pkey PRIMARY KEY (job_id, role, path, "position");

ALTER TABLE ONLY public.job_file
    ADD CONSTRAINT job_file_pkey PRIMARY KEY (job_id, role, path);

ALTER TABLE ONLY public.job
    ADD CONSTRAINT job_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.ledger_account
    ADD CONSTRAINT ledger_account_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.ledger_entry
    ADD CONSTRAINT ledger_entry_pkey PRIMARY KEY (transfer_id, ledger_account_id);

ALTER TABLE ONLY public.ledger_transfer
    ADD CONSTRAINT ledger_transfer_happens_once UNIQUE (idempotency_key);

ALTER TABLE ONLY public.ledger_transfer
    ADD CONSTRAINT ledger_transfer_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.login_origin
    ADD CONSTRAINT login_origin_pkey PRIMARY KEY (account_id, address);

ALTER TABLE ONLY public.login_token
    ADD CONSTRAINT login_token_pkey PRIMARY KEY (token_hash);

ALTER TABLE ONLY public.machine
    ADD CONSTRAINT machine_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.machine_session
    ADD CONSTRAINT machine_session_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.rate_counter
    ADD CONSTRAINT rate_counter_pkey PRIMARY KEY (name);

ALTER TABLE ONLY public.schema_migration
    ADD CONSTRAINT schema_migration_pkey PRIMARY KEY (number);

ALTER TABLE ONLY public.settlement
    ADD CONSTRAINT settlement_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY public.storage
    ADD CONSTRAINT storage_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.storage_released
    ADD CONSTRAINT storage_released_pkey PRIMARY KEY (storage_id);

ALTER TABLE ONLY public.watched_record_chunk
    ADD CONSTRAINT watched_record_chunk_pkey PRIMARY KEY (job_id, variable, sequence, "position");

ALTER TABLE ONLY public.watched_record
    ADD CONSTRAINT watched_record_pkey PRIMARY KEY (job_id, variable, sequence);

ALTER TABLE ONLY public.watched_variable
    ADD CONSTRAINT watched_variable_pkey PRIMARY KEY (job_id, variable);

CREATE UNIQUE INDEX account_email_is_unique ON public.account USING btree (lower(email));

CREATE INDEX account_ending ON public.account USING btree (id) WHERE ending;

CREATE UNIQUE INDEX attempt_is_one_at_a_time ON public.attempt USING btree (job_id) WHERE (ended_at IS NULL);

CREATE INDEX attempt_leaving ON public.attempt USING btree (leave_by) WHERE ((leave_by IS NOT NULL) AND (ended_at IS NULL));

CREATE INDEX attempt_of_machine ON public.attempt USING btree (machine_id, ended_at);

CREATE INDEX attempt_of_machine_session ON public.attempt USING btree (machine_session_id, ended_at);

CREATE INDEX audit_event_by_time ON public.audit_event USING btree (at);

CREATE UNIQUE INDEX audit_event_failures_are_put_together ON public.audit_event USING btree (date_trunc('minute'::text, (at AT TIME ZONE 'UTC'::text)), action, address, COALESCE(subject, ''::text)) WHERE (action = ANY (ARRAY['login_failed'::text, 'login_refused'::text, 'register_refused'::text]));

CREATE UNIQUE INDEX audit_event_logins_are_put_together ON public.audit_event USING btree (date_trunc('hour'::text, (at AT TIME ZONE 'UTC'::text)), account_id, public.audit_origin(address)) WHERE (action = 'login'::text);

CREATE INDEX audit_event_of_account ON public.audit_event USING btree (account_id, id) WHERE (account_id IS NOT NULL);

CREATE INDEX audit_event_of_address ON public.audit_event USING btree (address, id) WHERE (address IS NOT NULL);

CREATE INDEX audit_event_of_subject ON public.audit_event USING btree (subject, id) WHERE (subject IS NOT NULL);

CREATE INDEX blob_by_check ON public.blob USING btree (check_after);

CREATE INDEX blob_presence_by_pin ON public.blob_presence USING btree (pinned_until);

CREATE INDEX blob_presence_of_blob ON public.blob_presence USING btree (sha256);

CREATE INDEX checkpoint_chunk_of_blob ON public.checkpoint_chunk USING btree (sha256, job_id);

CREATE INDEX heartbeat_of_machine ON public.heartbeat USING btree (machine_id, at DESC);

CREATE INDEX job_by_deadline ON public.job USING btree (deadline) WHERE ((deadline IS NOT NULL) AND (state = ANY (ARRAY['uploading'::public.job_state, 'queued'::public.job_state, 'assigned'::public.job_state, 'running'::public.job_state])));

CREATE INDEX job_file_chunk_of_blob ON public.job_file_chunk USING btree (sha256, account_id, job_id);

CREATE UNIQUE INDEX job_idempotency_key_is_unique ON public.job USING btree (account_id, idempotency_key);

CREATE INDEX job_of_account ON public.job USING btree (account_id, id DESC);

CREATE INDEX job_uploading ON public.job USING btree (created_at) WHERE (state = 'uploading'::public.job_state);

CREATE INDEX job_waiting ON public.job USING btree (account_id, rank, id) WHERE (state = 'queued'::public.job_state);

CREATE UNIQUE INDEX ledger_account_mint_and_fee_exist_once ON public.ledger_account USING btree (kind) WHERE (kind = ANY (ARRAY['mint'::public.ledger_kind, 'fee'::public.ledger_kind]));

CREATE UNIQUE INDEX ledger_account_of_job ON public.ledger_account USING btree (job_id) WHERE (kind = 'escrow'::public.ledger_kind);

CREATE UNIQUE INDEX ledger_account_of_user ON public.ledger_account USING btree (account_id) WHERE (kind = 'user'::public.ledger_kind);

CREATE INDEX ledger_entry_of_account ON public.ledger_entry USING btree (ledger_account_id, transfer_id);

CREATE INDEX ledger_transfer_of_job ON public.ledger_transfer USING btree (job_id) WHERE (job_id IS NOT NULL);

CREATE INDEX login_origin_by_time ON public.login_origin USING btree (at);

CREATE INDEX login_token_by_expiry ON public.login_token USING btree (expires_at);

CREATE INDEX login_token_of_account ON public.login_token USING btree (account_id);

CREATE INDEX login_token_of_machine ON public.login_token USING btree (machine_id) WHERE (machine_id IS NOT NULL);

CREATE UNIQUE INDEX machine_name_is_unique_for_its_owner ON public.machine USING btree (account_id, name) WHERE (removed_at IS NULL);

CREATE INDEX machine_of_account ON public.machine USING btree (account_id, id DESC);

CREATE INDEX machine_removed ON public.machine USING btree (removed_at) WHERE (removed_at IS NOT NULL);

CREATE INDEX machine_session_evicted ON public.machine_session USING btree (id) WHERE (evicted AND (ended_at IS NULL));

CREATE UNIQUE INDEX machine_session_is_one_at_a_time ON public.machine_session USING btree (machine_id) WHERE (ended_at IS NULL);

CREATE INDEX machine_session_of_machine ON public.machine_session USING btree (machine_id);

CREATE INDEX machine_session_offering ON public.machine_session USING btree (price_micro_per_cpu_second, id) WHERE ((ended_at IS NULL) AND taking_jobs AND (cpu_cores_free > 0));

CREATE INDEX machine_session_reserved ON public.machine_session USING btree (reserved_for) WHERE ((reserved_for IS NOT NULL) AND (ended_at IS NULL));

CREATE INDEX rate_counter_by_end ON public.rate_counter USING btree (ends_at);

CREATE INDEX settlement_by_time ON public.settlement USING btree (settle_by);

CREATE UNIQUE INDEX storage_of_account ON public.storage USING btree (account_id) WHERE (account_id IS NOT NULL);

CREATE UNIQUE INDEX storage_of_attempt ON public.storage USING btree (job_id, attempt_number) WHERE (job_id IS NOT NULL);

CREATE UNIQUE INDEX storage_of_checkpoints ON public.storage USING btree (job_id) WHERE ((job_id IS NOT NULL) AND (attempt_number IS NULL));

CREATE INDEX watched_record_chunk_of_blob ON public.watched_record_chunk USING btree (sha256, job_id);

CREATE TRIGGER account_has_a_tally AFTER INSERT ON public.account FOR EACH ROW EXECUTE FUNCTION public.account_has_a_tally();

CREATE TRIGGER account_has_storage AFTER INSERT ON public.account FOR EACH ROW EXECUTE FUNCTION public.account_has_storage();

CREATE TRIGGER attempt_has_storage AFTER INSERT ON public.attempt FOR EACH ROW EXECUTE FUNCTION public.attempt_has_storage();

CREATE TRIGGER chunk_of_a_checkpoint_is_looked_at_soon AFTER DELETE ON public.checkpoint_chunk REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION public.chunk_is_looked_at_soon();

CREATE TRIGGER chunk_of_a_file_is_looked_at_soon AFTER DELETE ON public.job_file_chunk REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION public.chunk_is_looked_at_soon();

CREATE TRIGGER chunk_of_a_value_is_looked_at_soon AFTER DELETE ON public.watched_record_chunk REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION public.chunk_is_looked_at_soon();

CREATE TRIGGER job_file_is_charged AFTER INSERT ON public.job_file REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.job_file_is_charged();

CREATE TRIGGER job_file_is_given_back AFTER DELETE ON public.job_file REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION public.job_file_is_charged();

CREATE TRIGGER job_is_tallied AFTER INSERT OR DELETE ON public.job FOR EACH ROW EXECUTE FUNCTION public.job_is_tallied();

CREATE TRIGGER job_leaves_uploading AFTER UPDATE OF state ON public.job FOR EACH ROW WHEN (((old.state = 'uploading'::public.job_state) AND (new.state <> 'uploading'::public.job_state))) EXECUTE FUNCTION public.job_is_tallied();

CREATE TRIGGER job_state_moves BEFORE UPDATE OF state ON public.job FOR EACH ROW WHEN ((old.state IS DISTINCT FROM new.state)) EXECUTE FUNCTION public.job_state_check();

CREATE TRIGGER ledger_account_starts_empty BEFORE INSERT ON public.ledger_account FOR EACH ROW WHEN ((new.balance_micro <> 0)) EXECUTE FUNCTION public.ledger_balance_is_derived();

CREATE TRIGGER ledger_balance_stays BEFORE UPDATE ON public.ledger_account FOR EACH ROW WHEN ((pg_trigger_depth() = 0)) EXECUTE FUNCTION public.ledger_balance_is_derived();

CREATE TRIGGER ledger_entry_applies AFTER INSERT ON public.ledger_entry REFERENCING NEW TABLE AS fresh FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_entry_apply();

CREATE TRIGGER ledger_entry_stays BEFORE DELETE OR UPDATE OR TRUNCATE ON public.ledger_entry FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_is_append_only();

CREATE TRIGGER ledger_transfer_stays BEFORE DELETE OR UPDATE OR TRUNCATE ON public.ledger_transfer FOR EACH STATEMENT EXECUTE FUNCTION public.ledger_is_append_only();

CREATE TRIGGER storage_owner_is_charged AFTER UPDATE OF used_bytes ON public.storage FOR EACH ROW WHEN (((old.owner_id IS NOT NULL) AND (old.used_bytes <> new.used_bytes))) EXECUTE FUNCTION public.storage_owner_is_charged();

CREATE TRIGGER storage_owner_is_relieved AFTER DELETE ON public.storage FOR EACH ROW WHEN (((old.owner_id IS NOT NULL) AND (old.used_bytes > 0))) EXECUTE FUNCTION public.storage_owner_is_charged();

CREATE TRIGGER ts_insert_blocker BEFORE INSERT ON public.heartbeat FOR EACH ROW EXECUTE FUNCTION _timescaledb_functions.insert_blocker();

CREATE TRIGGER ts_insert_blocker BEFORE INSERT ON public.heartbeat_minute FOR EACH ROW EXECUTE FUNCTION _timescaledb_functions.insert_blocker();

CREATE TRIGGER watched_variable_is_charged AFTER INSERT OR DELETE OR UPDATE OF bytes ON public.watched_variable FOR EACH ROW EXECUTE FUNCTION public.watched_variable_is_charged();

ALTER TABLE ONLY public.account_tally
    ADD CONSTRAINT account_tally_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id);

ALTER TABLE ONLY public.attempt
    ADD CONSTRAINT attempt_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.job(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.attempt
    ADD CONSTRAINT attempt_machine_id_fkey FOREIGN KEY (machine_id) REFERENCES public.machine(id);

ALTER TABLE ONLY public.attempt
    ADD CONSTRAINT attempt_machine_session_id_fkey FOREIGN KEY (machine_session_id) REFERENCES public.machine_session(id);

ALTER TABLE ONLY public.blob_presence
    ADD CONSTRAINT blob_presence_sha256_fkey FOREIGN KEY (sha256) REFERENCES public.blob(sha256);

ALTER TABLE ONLY public.blob_presence
    ADD CONSTRAINT blob_presence_storage_id_fkey FOREIGN KEY (storage_id) REFERENCES public.storage(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.checkpoint_chunk
    ADD CONSTRAINT checkpoint_chunk_job_id_sequence_fkey FOREIGN KEY (job_id, sequence) REFERENCES public.checkpoint(job_id, sequence) ON DELETE CASCADE;

ALTER TABLE ONLY public.checkpoint_chunk
    ADD CONSTRAINT checkpoint_chunk_sha256_fkey FOREIGN KEY (sha256) REFERENCES public.blob(sha256);

ALTER TABLE ONLY public.checkpoint
    ADD CONSTRAINT checkpoint_job_id_attempt_number_fkey FOREIGN KEY (job_id, attempt_number) REFERENCES public.attempt(job_id, number) ON DELETE CASCADE;

ALTER TABLE ONLY public.job
    ADD CONSTRAINT job_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id);

ALTER TABLE ONLY public.job_file
    ADD CONSTRAINT job_file_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id);

ALTER TABLE ONLY public.job_file_chunk
    ADD CONSTRAINT job_file_chunk_job_id_role_path_fkey FOREIGN KEY (job_id, role, path) REFERENCES public.job_file(job_id, role, path) ON DELETE CASCADE;

ALTER TABLE ONLY public.job_file_chunk
    ADD CONSTRAINT job_file_chunk_sha256_fkey FOREIGN KEY (sha256) REFERENCES public.blob(sha256);

ALTER TABLE ONLY public.job_file
    ADD CONSTRAINT job_file_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.job(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.ledger_account
    ADD CONSTRAINT ledger_account_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id);

ALTER TABLE ONLY public.ledger_entry
    ADD CONSTRAINT ledger_entry_ledger_account_id_fkey FOREIGN KEY (ledger_account_id) REFERENCES public.ledger_account(id);

ALTER TABLE ONLY public.ledger_entry
    ADD CONSTRAINT ledger_entry_transfer_id_fkey FOREIGN KEY (transfer_id) REFERENCES public.ledger_transfer(id);

ALTER TABLE ONLY public.login_origin
    ADD CONSTRAINT login_origin_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id);

ALTER TABLE ONLY public.login_token
    ADD CONSTRAINT login_token_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id);

ALTER TABLE ONLY public.login_token
    ADD CONSTRAINT login_token_machine_id_fkey FOREIGN KEY (machine_id) REFERENCES public.machine(id);

ALTER TABLE ONLY public.machine
    ADD CONSTRAINT machine_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id);

ALTER TABLE ONLY public.machine_session
    ADD CONSTRAINT machine_session_machine_id_fkey FOREIGN KEY (machine_id) REFERENCES public.machine(id);

ALTER TABLE ONLY public.settlement
    ADD CONSTRAINT settlement_earner_id_fkey FOREIGN KEY (earner_id) REFERENCES public.account(id);

ALTER TABLE ONLY public.settlement
    ADD CONSTRAINT settlement_machine_id_fkey FOREIGN KEY (machine_id) REFERENCES public.machine(id);

ALTER TABLE ONLY public.settlement
    ADD CONSTRAINT settlement_owner_id_fkey FOREIGN KEY (owner_id) REFERENCES public.account(id);

ALTER TABLE ONLY public.storage
    ADD CONSTRAINT storage_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id);

ALTER TABLE ONLY public.storage
    ADD CONSTRAINT storage_job_id_attempt_number_fkey FOREIGN KEY (job_id, attempt_number) REFERENCES public.attempt(job_id, number) ON DELETE CASCADE;

ALTER TABLE ONLY public.storage
    ADD CONSTRAINT storage_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.job(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.storage_released
    ADD CONSTRAINT storage_released_storage_id_fkey FOREIGN KEY (storage_id) REFERENCES public.storage(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.watched_record_chunk
    ADD CONSTRAINT watched_record_chunk_job_id_variable_sequence_fkey FOREIGN KEY (job_id, variable, sequence) REFERENCES public.watched_record(job_id, variable, sequence) ON DELETE CASCADE;

ALTER TABLE ONLY public.watched_record_chunk
    ADD CONSTRAINT watched_record_chunk_sha256_fkey FOREIGN KEY (sha256) REFERENCES public.blob(sha256);

ALTER TABLE ONLY public.watched_record
    ADD CONSTRAINT watched_record_job_id_variable_fkey FOREIGN KEY (job_id, variable) REFERENCES public.watched_variable(job_id, variable) ON DELETE CASCADE;

ALTER TABLE ONLY public.watched_variable
    ADD CONSTRAINT watched_variable_account_id_fkey FOREIGN KEY (account_id) REFERENCES public.account(id);

ALTER TABLE ONLY public.watched_variable
    ADD CONSTRAINT watched_variable_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.job(id) ON DELETE CASCADE;

