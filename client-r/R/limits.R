# Limits that the market enforces. Written by script/limits from core/limits.h, core/watch_name.h and core/credits.h: do not edit.

email_bytes_max <- 254
password_bytes_min <- 8
password_bytes_max <- 1024
job_name_bytes_max <- 200
path_bytes_max <- 255
job_files_max <- 10000
cpu_cores_max <- 256
ram_mb_min <- 64
ram_mb_max <- 4194304
disc_mb_min <- 1
disc_mb_max <- 16777216
deadline_days_max <- 366
watched_variables_max <- 64
variable_name_bytes_max <- 200
watch_steps_max <- 16
watch_index_max <- 9007199254740991
watch_seconds_max <- 86400
watch_fraction_max <- 1000000
json_bytes_max <- 262144
inline_code_bytes_max <- 131072
chunk_bytes_max <- 1048576
chunks_asked_max <- 2048
page_rows_max <- 200
page_number_max <- 10000
machine_name_bytes_max <- 200
credits_micro_max <- 1000000000000000
