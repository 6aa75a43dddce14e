-- What machines report every beat, and its roll-up per minute. The roll-up is our own SQL, the same for every
-- edition of TimescaleDB: the Apache edition has no continuous aggregates.

CREATE TABLE heartbeat (
  at                 timestamptz NOT NULL,
  machine_id         uuid NOT NULL,
  session_id         uuid NOT NULL,
  cpu_used           real NOT NULL,
  ram_mb_used        real NOT NULL,
  disc_mb_used       real NOT NULL,
  network_kb_per_s   real NOT NULL,
  jobs               smallint NOT NULL,
  user_present       boolean NOT NULL
);

SELECT create_hypertable('heartbeat', by_range('at', INTERVAL '1 day'), create_default_indexes => false);
CREATE INDEX heartbeat_of_machine ON heartbeat (machine_id, at DESC);

CREATE TABLE heartbeat_minute (
  minute             timestamptz NOT NULL,
  machine_id         uuid NOT NULL,
  beats              integer NOT NULL,
  cpu_used_mean      real NOT NULL,
  cpu_used_min       real NOT NULL,
  cpu_used_max       real NOT NULL,
  ram_mb_used_mean   real NOT NULL,
  ram_mb_used_min    real NOT NULL,
  ram_mb_used_max    real NOT NULL,
  disc_mb_used_mean  real NOT NULL,
  disc_mb_used_min   real NOT NULL,
  disc_mb_used_max   real NOT NULL,
  network_kb_per_s_mean real NOT NULL,
  network_kb_per_s_min  real NOT NULL,
  network_kb_per_s_max  real NOT NULL,
  jobs_mean          real NOT NULL,
  user_present_share real NOT NULL,
  PRIMARY KEY (machine_id, minute)
);

SELECT create_hypertable('heartbeat_minute', by_range('minute', INTERVAL '7 days'), create_default_indexes => false);
