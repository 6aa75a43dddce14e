-- name: schema_migration_lock
-- One migrator at a time in this database, until the transaction ends. The number is arbitrary but fixed.
SELECT pg_advisory_xact_lock(7203411)

-- name: schema_migration_table_exists
SELECT to_regclass('public.schema_migration') IS NOT NULL

-- name: schema_migration_list
SELECT number, name, sha256 FROM schema_migration ORDER BY number

-- name: schema_migration_record
INSERT INTO schema_migration (number, name, sha256) VALUES ($1, $2, $3)

-- name: schema_timescaledb_version
SELECT coalesce((SELECT extversion FROM pg_extension WHERE extname = 'timescaledb'), '') AS installed,
       coalesce((SELECT default_version FROM pg_available_extensions WHERE name = 'timescaledb'), '') AS available,
       current_database() AS database
