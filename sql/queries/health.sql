-- name: health_probe
SELECT 1
