# shellcheck shell=bash
# The stack's PostgreSQL: reachable only through a Unix socket in a private folder. Sourced after process.sh.
#
# PostgreSQL refuses to run as root, so root runs it as the user "postgres"; and because that user may
# be unable to enter the state folder, the data of a root stack live below $pg_root_home. Earlier they lived below
# $pg_old_root_home, which is the folder of root's volunteer-agent and nobody else's.

pg_bin=/usr/lib/postgresql/17/bin
pg_root_home=/var/lib/remotist-stacks
pg_old_root_home=/var/lib/remotist
pg_user=$(id -un)
pg_as=()
if [[ $EUID -eq 0 ]]; then
  pg_user=postgres
  pg_as=(setpriv --reuid=postgres --regid=postgres --init-groups --)
fi

pg_socket() { readlink "$state/socket"; }
pg_url() { echo "postgresql://remotist@/remotist?host=$(pg_socket)"; }

# Unix socket paths end at 107 bytes, so the folder is in /tmp, wherever the state is.
pg_socket_ready() {
  local folder
  folder=$(readlink "$state/socket" || true)
  [[ -n $folder && -d $folder && ! -L $folder && $(stat -c %U:%a "$folder") == "$pg_user:700" ]] && return
  # A reboot or a cleaner took it away. Under its old name the other parts need not be told.
  if [[ -z $folder ]] || ! mkdir -m 0700 "$folder" 2>/dev/null; then
    [[ -z $folder ]] || has_moved
    folder=$(mktemp -d /tmp/remotist-XXXXXX)
  fi
  chown "$pg_user": "$folder"
  ln -sfn "$folder" "$state/socket"
}

# Moves the data of a stack from before, if that is no more than another name. May be ended at any point and run again.
pg_leave_old_home() {
  local old new
  old=$(readlink "$state/postgres" || true)
  [[ ${old%/*} == "$pg_old_root_home" ]] && no_members postgres || return 0
  new=$pg_root_home/${old##*/}
  install -d -m 0755 "$pg_root_home"
  if [[ -d $old ]]; then
    [[ $(stat -c %d "$old") == "$(stat -c %d "$pg_root_home")" ]] || return 0
    mv -T "$old" "$new"
  fi
  [[ ! -d $new ]] || ln -sfn "$new" "$state/postgres"
  rmdir "$pg_old_root_home" 2>/dev/null || true
}

pg_home_ready() {
  local home
  pg_leave_old_home
  [[ -d $state/postgres ]] && return
  [[ ! -L $state/postgres ]] || die "the data of this stack, $(readlink "$state/postgres"), are gone: script/down --wipe --state $state, then start anew"
  if [[ $EUID -eq 0 ]]; then
    install -d -m 0755 "$pg_root_home"
    home=$(mktemp -d "$pg_root_home/XXXXXX")
    ln -sfn "$home" "$state/postgres"
  else
    mkdir "$state/postgres"
  fi
  cp "$state/stack_id" "$state/postgres/stack_id"
  chown -R "$pg_user": "$state/postgres/"
}

# Made under another name first: a folder called "data" is complete.
pg_initialise() {
  local home
  home=$(realpath "$state/postgres")
  [[ -d $home/data ]] && return
  rm -rf "$home/new"
  (
    cd /
    "${pg_as[@]}" env -i PATH="$PATH" LANG=C.UTF-8 "$pg_bin/initdb" -D "$home/new" --username=postgres --auth=peer \
      --encoding=UTF8 --locale=C.UTF-8 --locale-provider=builtin --builtin-locale=C.UTF-8 --data-checksums
  ) >>"$state/log/postgres.log" 2>&1 || { explain postgres "could not be initialised"; return 1; }
  mv "$home/new" "$home/data"
}

# Written at every start, so that a stack made by an older script gets the settings of this one.
pg_configure() {
  local data=$state/postgres/data user
  # Shared memory as files of the data folder: containers often have only 64 MB of /dev/shm, and nothing
  # is left there by a server that was killed. The one background worker is TimescaleDB's launcher.
  cat >"$data/stack.conf" <<TEXT
listen_addresses = ''
unix_socket_directories = '$(pg_socket)'
port = 5432
max_connections = 400
fsync = on
synchronous_commit = on
dynamic_shared_memory_type = mmap
shared_preload_libraries = 'timescaledb'
timescaledb.telemetry_level = off
timescaledb.max_background_workers = 0
max_worker_processes = 8
timezone = 'UTC'
log_timezone = 'UTC'
log_line_prefix = '%m [%p] %q%u@%d '
TEXT
  echo 'local all all peer map=remotist' >"$data/pg_hba.conf"
  for user in "$(id -un)" "$pg_user"; do
    echo "remotist \"$user\" all"
  done | sort -u >"$data/pg_ident.conf"
  chown "$pg_user": "$data"/{stack,pg_hba,pg_ident}.conf
}

pg_answers() { "$pg_bin/pg_isready" -q -h "$(pg_socket)" -U postgres -d postgres; }

# Whoever is given a role in pg_ident.conf may take any: also the superuser's, which makes the extension.
pg_create_database() {
  env -i PATH="$PATH" LANG=C.UTF-8 PGOPTIONS='-c client_min_messages=warning' \
    "$pg_bin/psql" -X -q -A -t -v ON_ERROR_STOP=1 -h "$(pg_socket)" -U postgres -d postgres >>"$state/log/postgres.log" 2>&1 <<'SQL'
SELECT 'CREATE ROLE remotist LOGIN CREATEDB' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'remotist') \gexec
SELECT 'CREATE DATABASE remotist OWNER remotist' WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'remotist') \gexec
\connect remotist
CREATE EXTENSION IF NOT EXISTS timescaledb;
SQL
}

# A killed server leaves files with its pid, which it takes for a server that runs as long as nobody has
# collected the dead process; in a container without an init that is for ever.
pg_forget_dead() {
  local file pid
  for file in "$state/postgres/data/postmaster.pid" "$(pg_socket)/.s.PGSQL.5432.lock"; do
    [[ -f $file ]] && read -r pid <"$file" && [[ -z $(start_time "$pid") ]] && rm -f "$file"
  done
  return 0
}

pg_start() {
  local home
  pg_forget_dead
  pg_initialise || return 1
  pg_configure
  home=$(realpath "$state/postgres")
  spawn postgres "${pg_as[@]}" "$pg_bin/postgres" -D "$home/data" -c "config_file=$home/data/stack.conf"
}

pg_up() {
  bring_up postgres pg_start pg_answers || return 1
  pg_create_database || explain postgres "runs, but its database could not be made"
}

pg_stop() { stop postgres INT 30 5; }

# A server that was killed leaves a System V segment, which only its own next start would remove.
pg_wipe() {
  local home segment
  [[ -e $state/postgres ]] || return 0
  home=$(realpath "$state/postgres")
  segment=$(sed -n '7s/.* //p' "$home/data/postmaster.pid" 2>/dev/null || true)
  [[ -z $segment ]] || ipcrm -m "$segment" 2>/dev/null || true
  if [[ -L $state/postgres ]]; then
    [[ ${home%/*} == @("$pg_root_home"|"$pg_old_root_home") && $(cat "$home/stack_id") == "$stack_id" ]] ||
      die "$state/postgres points to $home, which is not this stack's data: nothing was deleted"
    rm -rf "$home"
    rmdir "${home%/*}" 2>/dev/null || true
  fi
}
