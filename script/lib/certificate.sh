# shellcheck shell=bash
# A PEM file with a certificate, its chain and its key, before a proxy gets it. Sourced.

# certificate_problem FILE: prints why a proxy could not serve this file, and fails; prints nothing when it can.
certificate_problem() {
  local pem=$1 count found bits start
  count=$(grep -c -e '^-----BEGIN CERTIFICATE-----' "$pem" || true)
  ((count > 0)) || { echo "it has no certificate (a block BEGIN CERTIFICATE)"; return 1; }
  found=$(openssl storeutl -noout -certs -passin pass: "$pem" 2>/dev/null | sed -n 's/^Total found: //p' || true)
  [[ $found == "$count" ]] || { echo "of its $count certificates at least one cannot be read"; return 1; }
  grep -q -e '^-----BEGIN .*PRIVATE KEY-----' "$pem" || { echo "it has no private key (a block BEGIN PRIVATE KEY)"; return 1; }
  ! grep -q -e '^-----BEGIN ENCRYPTED PRIVATE KEY-----' -e '^Proc-Type:.*ENCRYPTED' "$pem" || { echo "its private key needs a passphrase, which a proxy does not have"; return 1; }
  openssl pkey -noout -in "$pem" -passin pass: 2>/dev/null || { echo "its private key cannot be read"; return 1; }
  [[ $(openssl x509 -noout -pubkey -in "$pem") == "$(openssl pkey -pubout -in "$pem")" ]] ||
    { echo "its private key is not that of its first certificate (the server's own must come first, then the chain)"; return 1; }
  openssl x509 -noout -checkend 0 -in "$pem" >/dev/null || { echo "its certificate has expired: $(openssl x509 -noout -enddate -in "$pem")"; return 1; }
  start=$(openssl x509 -noout -startdate -in "$pem")
  (($(date -d "${start#*=}" +%s) <= $(date +%s))) || { echo "its certificate is not valid yet: $start"; return 1; }
  # OpenSSL serves no weaker ones at its usual security level.
  bits=$(openssl pkey -noout -text -in "$pem" | sed -n '1s/^Private-Key: (\([0-9]*\) bit, [0-9]* primes)$/\1/p')
  [[ -z $bits ]] || ((bits >= 2048)) || { echo "its RSA key has $bits bits; at least 2048 are needed"; return 1; }
}
