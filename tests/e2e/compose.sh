#!/usr/bin/env bash
# docker-compose.yml: from nothing to a job's result through the proxy; every container may be killed while jobs run, and
# markets and workers may be more than one; a volunteer on this machine joins and runs a job from R. Needs Docker and the
# base image; where either is missing it is skipped. script/test containers has both.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib/stack.sh"

docker compose version >/dev/null 2>&1 || skip "there is no docker compose"
timeout 10 docker info >/dev/null 2>&1 || skip "no Docker runs"
docker image inspect debian:trixie-slim >/dev/null 2>&1 || skip "Docker does not have debian:trixie-slim"

export COMPOSE_PROJECT_NAME=remotist-test-$$ REMOTIST_FRONT_NETWORK=172.31.$((RANDOM % 250))
address=127.0.0.1:$((20000 + RANDOM % 10000))
export REMOTIST_PUBLISH=$address REMOTIST_SOCKET_URL=ws://$address/volunteer/socket
# This machine is an outer proxy's.
export REMOTIST_TRUSTED_PROXY=host

take_down() {
  [[ -z ${machine_pid:-} ]] || kill "$machine_pid" 2>/dev/null || true
  [[ ! -d $scratch/volunteer ]] || agent stop --now >/dev/null 2>&1 || true
  docker compose down --volumes --timeout 20 >/dev/null 2>&1 || true
  clean_up
}
trap take_down EXIT

compose() { docker compose "$@" >>"$scratch/compose.log" 2>&1 || { tail -n 40 "$scratch/compose.log"; fail "docker compose $*"; }; }
container() { docker compose ps --all --quiet "$1" | head -n 1; }
agent() { env -i PATH="$PATH" "${REMOTIST_BIN:-$repo/build/bin}/volunteer-agent" --state "$scratch/volunteer" "$@"; }
in_database() { docker compose exec -T database psql -X -q -A -t -h /run/remotist -U postgres -d remotist -c "$1"; }

# request METHOD PATH [JSON] [TOKEN] [KEY]: prints the answer; tried again for a minute while a part of the stack is away.
request() {
  local options=(-sS --max-time 30 -w '\n%{http_code}' -X "$1") deadline=$((SECONDS + 60)) answer
  [[ -z ${3:-} ]] || options+=(-H 'Content-Type: application/json' -d "$3")
  [[ -z ${4:-} ]] || options+=(-H "Authorization: Bearer $4")
  [[ -z ${5:-} ]] || options+=(-H "Idempotency-Key: $5")
  [[ -z ${client_address:-} ]] || options+=(-H "X-Forwarded-For: 192.0.2.1, $client_address")
  until answer=$(curl --noproxy '*' "${options[@]}" "http://$address$2" 2>&1) && [[ ${answer##*$'\n'} == 2?? ]]; do
    ((SECONDS < deadline)) || fail "$1 $2: $answer"
    sleep 0.3
  done
  printf '%s\n' "${answer%$'\n'*}"
}

# An account's token.
sign_up() {
  local credentials
  credentials=$(printf '{"email": "%s@example.org", "password": "correct horse battery"}' "$1")
  request POST /user/register "$credentials" >/dev/null
  request POST /user/login "$credentials" | jq -r .token
}

# A machine that takes whatever it is given, works on it for a second and brings a result. It holds on to nothing: after a
# reconnect the market assigns again what it thinks the machine has. Prints the jobs whose end was acknowledged.
cat >"$scratch/machine.pl" <<'PERL'
use strict; use warnings; use IO::Select; use IO::Socket::INET; use JSON::PP; use MIME::Base64 qw(encode_base64); use Time::HiRes qw(time sleep);
my ($place, $token) = @ARGV;
$| = 1;
while (1) { eval { session() }; print STDERR "socket: $@" if $@; sleep 0.5 }

sub session {
  my $socket = IO::Socket::INET->new(PeerAddr => $place, Timeout => 5) or die "no connection\n";
  print $socket "GET /volunteer/socket HTTP/1.1\r\nHost: $place\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n",
    "Sec-WebSocket-Key: ", encode_base64(pack('N4', map { rand 2**32 } 1 .. 4), ''), "\r\nAuthorization: Bearer $token\r\n\r\n";
  my ($buffer, $seq, $heard, $beat, @work) = ('', 0, 0, 0);
  my $say = sub { my %message = (seq => ++$seq, ($heard ? (ack => $heard) : ()), @_); frame($socket, 1, encode_json(\%message)); $seq };
  my $select = IO::Select->new($socket);
  my $read = sub { sysread($socket, $buffer, 65536, length $buffer) or die "closed\n" };
  until ($buffer =~ /\r\n\r\n/) { $select->can_read(10) or die "no answer\n"; $read->() }
  $buffer =~ s/^HTTP\/1\.1 101 .*?\r\n\r\n//s or die "refused: " . substr($buffer, 0, 300) . "\n";
  $say->(type => 'hello', protocols => [1], software => 'compose test', taking_jobs => JSON::PP::true, attempts => []);
  while (1) {
    $read->() if $select->can_read(0.1);
    while (my ($opcode, $text) = take(\$buffer)) {
      die 'close frame: ' . substr($text, 2) . "\n" if $opcode == 8;
      frame($socket, 10, $text) if $opcode == 9;
      next if $opcode != 1;
      my $message = decode_json($text);
      $heard = $message->{seq} if $message->{seq};
      $beat = time + $message->{beat_ms} / 1000 if $message->{type} eq 'welcome';
      for my $job (@{ $message->{jobs} || [] }) {
        my %attempt = map { $_ => $job->{$_} } qw(job attempt token);
        push @work, { %attempt, ends => time + 1, accepted => $say->(type => 'accept', attempts => [\%attempt]) };
      }
      for my $gone (@{ $message->{attempts} || [] }) { @work = grep { $_->{job} ne $gone->{job} } @work if $message->{type} eq 'stop' }
      frame($socket, 1, encode_json({ type => 'ack', ack => $heard })) if $message->{type} ne 'ack';
      for my $done (grep { $_->{said} && $_->{said} <= ($message->{ack} // 0) } @work) { print "$done->{job}\n" }
      @work = grep { !$_->{said} || $_->{said} > ($message->{ack} // 0) } @work;
    }
    for my $job (grep { !$_->{said} && $_->{ends} < time } @work) {
      $job->{said} = $say->(type => 'outcome', (map { $_ => $job->{$_} } qw(job attempt token)), outcome => 'completed', cpu_ms => 500,
        files => [{ role => 'output', path => 'result.txt', text => "2\n" }]);
    }
    next if !$beat || time < $beat;
    $beat = time + 3;
    $say->(type => 'beat', taking_jobs => JSON::PP::true, user_present => JSON::PP::false, cpu_used => 0.5, ram_mb_used => 100, disc_mb_used => 1,
      network_kb_per_s => 1, attempts => [map { { job => $_->{job}, attempt => $_->{attempt}, cpu_ms => 100 } } grep { !$_->{said} } @work]);
  }
}

sub frame {
  my ($socket, $opcode, $text) = @_;
  my ($length, $mask) = (length $text, pack('N', int rand 2**32));
  my $head = pack('C', 0x80 | $opcode) . ($length < 126 ? pack('C', 0x80 | $length) : pack('Cn', 0x80 | 126, $length));
  syswrite($socket, $head . $mask . ($text ^ substr($mask x ($length / 4 + 1), 0, $length))) or die "cannot send\n";
}

# Takes one whole frame off the buffer; the market's are not masked.
sub take {
  my ($buffer) = @_;
  return if length $$buffer < 2;
  my ($first, $length) = unpack('CC', $$buffer);
  my $head = $length == 127 ? 10 : $length == 126 ? 4 : 2;
  return if length $$buffer < $head;
  $length = unpack($head == 10 ? 'x2Q>' : 'x2n', $$buffer) if $head > 2;
  return if length $$buffer < $head + $length;
  my $text = substr($$buffer, $head, $length);
  substr($$buffer, 0, $head + $length) = '';
  return ($first & 15, $text);
}
PERL

count=0
submit() {
  count=$((count + 1))
  request PUT /job/ '{"name": "hello", "exec_file": "main.R", "code": "x <- 1 + 1\n", "cpu": 1, "ram": 64, "disc": 1, "price": 0.5, "submit": true}' \
    "$client" "job-$count" | jq -r .id >>"$scratch/submitted"
}
all_done() { [[ $(in_database "SELECT count(*) FROM job WHERE state <> 'completed'" 2>/dev/null) == 0 ]]; }
jobs_by_state() { in_database 'SELECT state, count(*) FROM job GROUP BY state'; }

echo "building and starting"
began=$SECONDS
compose build
echo "built in $((SECONDS - began)) s"
began=$SECONDS
compose up -d --no-build --wait
echo "all are well after $((SECONDS - began)) s"
client=$(sign_up client)
lender=$(client_address=203.0.113.5 sign_up lender)
[[ $(in_database "SELECT count(*) FROM account WHERE host(registered_from) = '$REMOTIST_FRONT_NETWORK.2'") == 0 ]] || fail "the market takes the proxy for its clients"
[[ $(in_database "SELECT count(*) FROM account WHERE host(registered_from) = '203.0.113.5'") == 1 ]] || fail "the address that an outer proxy tells is not believed"

echo "a job goes out through the proxy's WebSocket and comes back"
machine=$(request PUT /machine/ '{"name": "lab", "cpu": 4, "ram": 4096, "disc": 4096, "price": 1}' "$lender" | jq -r .id)
started=$(request POST "/machine/$machine/startVolunteer" '' "$lender")
[[ $(jq -r .socket_url <<<"$started") == "$REMOTIST_SOCKET_URL" ]] || fail "volunteers are told to connect to $(jq -r .socket_url <<<"$started")"
perl "$scratch/machine.pl" "$address" "$(jq -r .token <<<"$started")" >"$scratch/done" 2>"$scratch/machine.log" & machine_pid=$!
submit
wait_until 60 all_done || fail "the job was not done: $(jobs_by_state) $(<"$scratch/machine.log")"
[[ $(request GET "/job/$(head -n 1 "$scratch/submitted")/output" '' "$client") == *result.txt* ]] || fail "its result is not there"

parts=(market worker broker database proxy)
for part in "${parts[@]}"; do
  echo "killing the $part"
  submit
  docker kill "$(container "$part")" >/dev/null
  [[ $part != @(worker|broker) ]] || submit # they are not needed for this
  compose up -d --no-build
  submit
done
wait_until 120 all_done || fail "not all jobs were done: $(jobs_by_state)"

echo "two markets, three workers"
compose up -d --no-build --scale market=2 --scale worker=3
for _ in {1..20}; do submit; done
wait_until 120 all_done || fail "not all jobs were done: $(jobs_by_state)"
for id in $(docker compose ps --quiet market); do
  docker exec "$id" healthy http 8080 /healthz || fail "a market is not well"
done

# Each submitted once, done once, paid once; nothing waits, and the ledger adds up.
[[ $(sort -u "$scratch/submitted" | wc -l) == "$count" ]] || fail "$count jobs were submitted, $(sort -u "$scratch/submitted" | wc -l) were made"
[[ $(in_database "SELECT count(*), count(DISTINCT job_id) FROM attempt WHERE outcome = 'completed'") == "$count|$count" ]] || fail "not every job was completed once"
[[ $(in_database "SELECT sum(balance_micro) FILTER (WHERE kind = 'user'), sum(balance_micro) FILTER (WHERE kind = 'escrow') FROM ledger_account") == '200000000|0' ]] ||
  fail "the credits do not add up"
[[ $(in_database 'SELECT count(*) FROM outbox') == 0 ]] || fail "messages wait in the outbox"

echo "a volunteer on this machine joins, and runs jobs from R while containers are killed"
kill "$machine_pid"
machine_pid=
request POST /user/register '{"email": "volunteer@example.org", "password": "correct horse battery"}' >/dev/null
agent doctor >"$scratch/doctor" || fail "this machine cannot sandbox: $(grep MISSING "$scratch/doctor" | head -n 1)"
agent login --url "http://$address" --email volunteer@example.org <<<'correct horse battery'
agent add-machine --cpu 2 --ram 1024 --disc 1024
agent start --background
mkdir "$scratch/jobs"
began=$SECONDS
REMOTIST_URL=http://$address NO_PROXY='*' Rscript --vanilla tests/e2e/compose/jobs.R "$scratch/jobs" "${parts[@]}" >"$scratch/r.log" 2>&1 & r_pid=$!
# started CONTAINER: its job runs, or ran, or R has given up.
started() {
  kill -0 "$r_pid" 2>/dev/null || return 0
  [[ -s $scratch/jobs/$1 && $(in_database "SELECT state FROM job WHERE id = '$(<"$scratch/jobs/$1")'" 2>/dev/null) == @(running|completed) ]]
}
for part in "${parts[@]}"; do
  wait_until 120 started "$part" || fail "the job from R does not run: $(jobs_by_state) $(agent status) $(<"$scratch/r.log")"
  docker kill "$(container "$part")" >/dev/null
  compose up -d --no-build --wait
done
wait "$r_pid" || fail "jobs from R: $(<"$scratch/r.log")"
sed 's/^/    /' "$scratch/r.log"
echo "${#parts[@]} jobs in $((SECONDS - began)) s"
for part in "${parts[@]}"; do
  [[ $(in_database "SELECT count(*) FROM attempt WHERE outcome = 'completed' AND job_id = '$(<"$scratch/jobs/$part")'") == 1 ]] || fail "the job was not completed once"
done
agent stop

echo "nobody is root, nobody can write"
for id in $(docker compose ps --quiet); do
  name=$(docker inspect --format '{{.Name}}' "$id")
  docker exec "$id" bash -c '[[ $(stat -c %u /proc/[0-9]* 2>/dev/null | sort -u) == "$(id -u)" && $(id -u) != 0 ]]' || fail "$name runs something as another user than its own"
  ! docker exec "$id" touch /x 2>/dev/null || fail "$name can write its root"
  [[ $(docker exec "$id" grep -c -E '^Cap(Prm|Eff|Bnd):\s0+$' /proc/1/status) == 3 ]] || fail "$name has capabilities"
done

echo "a certificate that cannot be served is refused"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -days 2 -subj /CN=localhost -keyout "$scratch/key" -out "$scratch/bad.pem" 2>/dev/null
! REMOTIST_CERTIFICATE=$scratch/bad.pem docker compose run --rm -T secrets >"$scratch/out" 2>&1 || fail "a certificate without its key was taken"
grep -q 'REMOTIST_CERTIFICATE cannot be used: it has no private key' "$scratch/out" || fail "a certificate without its key: $(<"$scratch/out")"
docker compose run --rm -T secrets >"$scratch/out" 2>&1 || fail "secrets: $(<"$scratch/out")"

echo "stopping"
compose stop
for part in "${parts[@]}"; do
  [[ $(docker inspect --format '{{.State.ExitCode}}' "$(container "$part")") == 0 ]] || fail "the $part did not end by itself"
done
