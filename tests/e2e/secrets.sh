#!/usr/bin/env bash
# A certificate that haproxy could not serve is refused before it gets there, with the reason, and the one in force stays; what
# is accepted, haproxy takes. Settings that would show passwords to the world are refused, too. The container's script "secrets" is
# run without Docker, in a root made by bubblewrap.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib/stack.sh"
. script/lib/certificate.sh

cd "$scratch"
# new_certificate NAME KEY_OPTION… -- OPTION…: NAME.pem with certificate and key.
new_certificate() {
  local name=$1 key=()
  shift
  while [[ $1 != -- ]]; do key+=("$1"); shift; done
  openssl req -x509 "${key[@]}" -noenc -subj "/CN=$name" -keyout "$name.key" -out "$name.crt" "${@:2}" 2>/dev/null
  cat "$name.crt" "$name.key" >"$name.pem"
}
ec=(-newkey ec -pkeyopt ec_paramgen_curve:P-256)
new_certificate ecdsa "${ec[@]}" -- -days 30
new_certificate rsa -newkey rsa:2048 -- -days 30
new_certificate renewed "${ec[@]}" -- -days 60
new_certificate expired "${ec[@]}" -- -not_before 20200101000000Z -not_after 20200201000000Z
new_certificate early "${ec[@]}" -- -not_before 20990101000000Z -not_after 20990201000000Z
new_certificate weak -newkey rsa:1024 -- -days 30
cat ecdsa.crt rsa.crt ecdsa.key >chain.pem
cat ecdsa.key ecdsa.crt >key_first.pem
cat ecdsa.crt rsa.key >foreign_key.pem
cat rsa.crt ecdsa.crt ecdsa.key >chain_first.pem
{ cat ecdsa.crt; openssl ec -in ecdsa.key -aes128 -passout pass:secret 2>/dev/null; } >locked_old.pem
{ cat ecdsa.crt; openssl pkey -in ecdsa.key -aes128 -passout pass:secret; } >locked.pem
sed '3s/./!/g' ecdsa.pem >garbled.pem
{ cat ecdsa.pem; sed '3s/./!/g' rsa.crt; } >garbled_chain.pem
sed '/BEGIN.*PRIVATE/,$ { 2,$ s/^[A-Za-z0-9+\/]/!/ }' ecdsa.pem >garbled_key.pem
head -c 300 ecdsa.pem >cut.pem
: >empty.pem

echo "what haproxy takes is accepted"
for name in ecdsa rsa chain key_first; do
  problem=$(certificate_problem "$name.pem") || fail "$name.pem: $problem"
  printf 'frontend f\n mode http\n timeout client 1s\n bind 127.0.0.1:1 ssl crt %s/%s.pem\n' "$scratch" "$name" >haproxy.cfg
  /usr/sbin/haproxy -c -f haproxy.cfg >out 2>&1 || fail "haproxy refuses $name.pem: $(<out)"
done

echo "what it could not serve is refused, with the reason"
expect_problem() {
  local problem
  ! problem=$(certificate_problem "$1.pem" 2>&1) || fail "$1.pem was accepted"
  [[ $problem == *"$2"* && $problem != *$'\n'* ]] || fail "$1.pem: '$problem', not '$2'"
}
cp ecdsa.crt only.pem
cp ecdsa.key only_key.pem
expect_problem empty "no certificate"
expect_problem only "no private key"
expect_problem only_key "no certificate"
expect_problem cut "cannot be read"
expect_problem garbled "cannot be read"
expect_problem garbled_chain "cannot be read"
expect_problem garbled_key "private key cannot be read"
expect_problem foreign_key "not that of its first certificate"
expect_problem chain_first "not that of its first certificate"
expect_problem locked passphrase
expect_problem locked_old passphrase
expect_problem expired "expired"
expect_problem early "not valid yet"
expect_problem weak "1024 bits"

[[ $EUID -eq 0 ]] || { echo "the rest needs root"; exit 0; }
echo "a bad renewal leaves the old certificate in force"
mkdir -p vault secret/{database,broker,market,worker,proxy}
awk -F: '!($3 >= 910 && $3 <= 913) && $1 !~ /^(remotist|postgres|rabbitmq|haproxy)$/' /etc/passwd >passwd
for user in 910:remotist 911:postgres 912:rabbitmq 913:haproxy; do echo "${user#*:}:x:${user%:*}:${user%:*}::/:/usr/sbin/nologin" >>passwd; done
# secrets PEM [VARIABLE VALUE]…: as docker-compose.yml starts it.
secrets() {
  local variables=(REMOTIST_TLS off REMOTIST_PUBLISH 127.0.0.1:8080 REMOTIST_SOCKET_URL wss://market.example/volunteer/socket REMOTIST_TRUSTED_PROXY '' "${@:2}") i options=()
  for ((i = 0; i < ${#variables[@]}; i += 2)); do options+=(--setenv "${variables[i]}" "${variables[i + 1]}"); done
  bwrap --unshare-pid --unshare-net --unshare-ipc --die-with-parent --cap-add CAP_CHOWN --cap-add CAP_DAC_OVERRIDE --clearenv --setenv PATH "$PATH" "${options[@]}" \
    --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 --ro-bind /etc/ssl /etc/ssl \
    --ro-bind passwd /etc/passwd --proc /proc --dev /dev --tmpfs /tmp --tmpfs /usr/local/share \
    --ro-bind "$repo/script/lib" /usr/local/share/remotist/script/lib --ro-bind "$repo/script/container" /usr/local/share/remotist/script/container \
    --bind vault /vault --bind secret /secret --ro-bind "$1" /certificate.pem \
    /usr/local/share/remotist/script/container/secrets >out 2>&1
}
in_force() { cmp -s "$1.pem" secret/proxy/tls/server.pem; }
nothing=/dev/null
! secrets expired.pem || fail "a first certificate that has expired was taken"
for open in 8080 0.0.0.0:8080 192.0.2.1:80 '[::]:8080' 127x.example:80; do
  ! secrets $nothing REMOTIST_PUBLISH "$open" || fail "REMOTIST_PUBLISH=$open was taken without TLS"
  grep -q 'without TLS' out || fail "REMOTIST_PUBLISH=$open: $(<out)"
done
! secrets $nothing REMOTIST_PUBLISH 0.0.0.0:80 REMOTIST_TRUSTED_PROXY host || fail "an outer proxy on the same machine is no reason to be open to others"
! secrets $nothing REMOTIST_TRUSTED_PROXY 0.0.0.0/0 || fail "everybody is a trusted proxy"
grep -q 'must not be everybody' out || fail "REMOTIST_TRUSTED_PROXY=0.0.0.0/0: $(<out)"
! secrets $nothing REMOTIST_TLS on || fail "REMOTIST_TLS=on was taken"
! secrets ecdsa.pem REMOTIST_SOCKET_URL ws://127.0.0.1:8080/volunteer/socket || fail "volunteers would be sent to ws:// where the proxy speaks TLS"
[[ -z $(find vault secret -type f) ]] || fail "a refused certificate left files: $(find vault secret)"
secrets ecdsa.pem || fail "secrets: $(<out)"
in_force ecdsa || fail "the certificate did not get to the proxy"
[[ $(stat -c '%a %u' secret/proxy/tls/server.pem) == '400 913' ]] || fail "the proxy's certificate is $(stat -c '%a %u' secret/proxy/tls/server.pem)"
password=$(<vault/database_password)
for name in expired foreign_key only_key garbled; do
  ! secrets "$name.pem" || fail "$name.pem was taken"
  grep -q 'REMOTIST_CERTIFICATE cannot be used: .*Nothing was changed' out || fail "$name.pem: $(<out)"
  in_force ecdsa || fail "$name.pem was refused, but the old one is not in force"
done
secrets renewed.pem || fail "secrets: $(<out)"
in_force renewed || fail "a good renewal did not get to the proxy"
[[ $(<vault/database_password) == "$password" ]] || fail "a renewal changed a password"

echo "TLS of the stack's own, none, and none before an outer proxy"
secrets $nothing REMOTIST_TLS private || fail "secrets: $(<out)"
problem=$(certificate_problem secret/proxy/tls/server.pem) || fail "the stack's own certificate: $problem"
secrets ecdsa.pem REMOTIST_PUBLISH 0.0.0.0:443 || fail "secrets: $(<out)"
[[ ! -e secret/proxy/tls/ca.crt ]] || fail "a private CA is offered for a certificate that it did not make"
secrets $nothing REMOTIST_SOCKET_URL ws://127.0.0.1:8080/volunteer/socket || fail "secrets: $(<out)"
[[ ! -e secret/proxy/tls ]] || fail "the proxy would still speak TLS"
secrets $nothing REMOTIST_PUBLISH 192.0.2.1:80 REMOTIST_TRUSTED_PROXY host,192.0.2.2 || fail "secrets: $(<out)"
