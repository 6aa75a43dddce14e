# shellcheck shell=bash
# The stack's RabbitMQ node with an epmd of its own, both on 127.0.0.1 only. Sourced after ports.sh.

# Sets $rabbitmq_env: what the node and rabbitmqctl must agree on.
rabbitmq_settings() {
  local home=$state/rabbitmq
  rabbitmq_env=(
    HOME="$home"
    ERL_EPMD_ADDRESS=127.0.0.1
    ERL_EPMD_PORT="${port[epmd]}"
    ERL_CRASH_DUMP_SECONDS=0
    RABBITMQ_CONF_ENV_FILE=/dev/null
    RABBITMQ_NODENAME="remotist-$stack_id@localhost"
    RABBITMQ_CTL_ERL_ARGS='-start_epmd false -kernel inet_dist_use_interface {127,0,0,1}'
  )
}

amqp_url() { echo "amqp://remotist:$(<"$state/secret/amqp_password")@127.0.0.1:${port[rabbitmq]}/"; }

rabbitmq_configure() {
  local home=$state/rabbitmq
  [[ -s $state/secret/amqp_password ]] || random_hex 24 | write_file "$state/secret/amqp_password"
  amqp_url | write_file "$state/secret/amqp_url"
  if [[ ! -s $home/.erlang.cookie ]]; then
    random_hex 24 | write_file "$home/.erlang.cookie"
    chmod 0400 "$home/.erlang.cookie"
  fi
  echo '[].' >"$home/enabled_plugins"
  write_file "$home/rabbitmq.conf" <<TEXT
listeners.tcp.local = 127.0.0.1:${port[rabbitmq]}
default_user = remotist
default_pass = $(<"$state/secret/amqp_password")
disk_free_limit.absolute = 50MB
log.file = false
log.console = true
TEXT
}

epmd_start() { spawn epmd epmd -address 127.0.0.1 -port "${port[epmd]}"; }

# A node that outlived its epmd registers again by itself, every two seconds.
epmd_ready() { port_open "${port[epmd]}" && { dead rabbitmq || epmd_knows_node; }; }
epmd_knows_node() { epmd -port "${port[epmd]}" -names 2>/dev/null | grep -q "^name remotist-$stack_id "; }

# Debian's /usr/sbin/rabbitmq-server would change the user. The script behind it stays in front of the
# node as a shell unless told that it is detached; then our pid is the node's own.
rabbitmq_start() {
  local home=$state/rabbitmq
  rabbitmq_configure
  spawn rabbitmq "${rabbitmq_env[@]}" \
    detached=yes \
    RABBITMQ_BASE="$home" \
    RABBITMQ_MNESIA_BASE="$home/mnesia" \
    RABBITMQ_LOG_BASE="$home/log" \
    RABBITMQ_LOGS=- \
    RABBITMQ_CONFIG_FILE="$home/rabbitmq.conf" \
    RABBITMQ_ADVANCED_CONFIG_FILE="$home/advanced.config" \
    RABBITMQ_ENABLED_PLUGINS_FILE="$home/enabled_plugins" \
    RABBITMQ_PID_FILE="$home/pid" \
    RABBITMQ_DIST_PORT="${port[rabbitmq_dist]}" \
    RABBITMQ_SCHEDULER_BIND_TYPE=u \
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS='-start_epmd false -kernel inet_dist_use_interface {127,0,0,1}' \
    /usr/lib/rabbitmq/bin/rabbitmq-server
}

rabbitmq_ready() { port_open "${port[rabbitmq]}"; }
