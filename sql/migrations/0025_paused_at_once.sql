-- A beat that a market records while its machine is paused may set taking_jobs again until the next beat. So the machine's own
-- flag counts as well, here and where sessions are offered jobs.
CREATE OR REPLACE VIEW machine_shown AS
SELECT m.id, m.account_id, m.name, m.cpu_cores, m.ram_mb, m.disc_mb, m.price_micro_per_cpu_second,
       utc_text(m.created_at) AS created_at, utc_text(s.seen_at) AS seen_at,
       CASE WHEN m.banned_at IS NOT NULL THEN 'banned'
            WHEN s.id IS NULL THEN 'offline'
            WHEN EXISTS (SELECT FROM attempt a WHERE a.machine_session_id = s.id AND a.ended_at IS NULL) THEN 'busy'
            WHEN s.taking_jobs AND NOT m.paused THEN 'idle'
            ELSE 'paused' END AS state,
       m.ban_reason
FROM machine m LEFT JOIN machine_session s ON s.machine_id = m.id AND s.ended_at IS NULL
WHERE m.removed_at IS NULL;
