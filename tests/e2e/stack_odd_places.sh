#!/usr/bin/env bash
# A stack works in a long path with a space below a closed folder, for root and for an ordinary user. Root's has its data apart
# from root's volunteer-agent, also when an earlier version had put them there.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib/stack.sh"

long=closed/a-path-with-more-than-ninety-bytes/because-sockets-end-at-one-hundred-and-seven/and-a\ space/stack

echo "as $(id -un)"
mkdir -m 0700 "$scratch/closed"
new_state "$long"
((${#state} > 90)) || fail "the path is too short to prove anything"
up "$state" --tls
mapfile -t traces < <(traces_of "$state")
ca=$(from_env "$state" REMOTIST_CA_FILE)
url=$(from_env "$state" REMOTIST_URL)
[[ $url == https://* ]] || fail "--tls gave $url"
curl -sSf --noproxy '*' --cacert "$ca" "$url/healthz" >/dev/null || fail "no answer through TLS"
down "$state" --wipe
expect_no_process "${traces[@]}"

if [[ $EUID -ne 0 ]]; then
  echo "not root, so there is no second user to try"
  exit 0
fi

echo "data where the agent's files belong"
new_state moved
up "$state" >/dev/null
who='{"email": "moved@example.org", "password": "correct horse battery"}'
[[ $(status "$state" POST /user/register "$who") == 201 ]] || fail "register: $(<"$scratch/answer")"
agent_folder=/var/lib/remotist
home=$(readlink "$state/postgres")
[[ $home != "$agent_folder"/* ]] || fail "the stack's data are in the folder of root's volunteer-agent"
if [[ -d $agent_folder && $(stat -c %a "$agent_folder") != 755 ]]; then
  echo "an agent's files are in $agent_folder, so nothing else is put there"
else
  for interrupted in no yes; do
    down "$state" >/dev/null
    install -d -m 0755 "$agent_folder"
    [[ $interrupted == yes ]] || mv -T "$home" "$agent_folder/${home##*/}"
    ln -sfn "$agent_folder/${home##*/}" "$state/postgres"
    up "$state" >/dev/null
    [[ $(readlink "$state/postgres") == "$home" && ! -e $agent_folder/${home##*/} ]] || fail "the data were not moved: $(readlink "$state/postgres")"
    [[ $(status "$state" POST /user/login "$who") == 200 ]] || fail "the moved data are not the same: $(<"$scratch/answer")"
  done
fi
down "$state" --wipe >/dev/null
[[ ! -e $home ]] || fail "--wipe left the data"

# The other user may be unable to read this clone, so it gets a copy.
echo "as nobody"
place=$(mktemp -d /tmp/remotist-e2e-nobody-XXXXXX)
as_nobody() { setpriv --reuid=nobody --regid=nogroup --clear-groups -- env -i PATH="$PATH" HOME="$place" REMOTIST_BIN="$place/bin" "$@"; }
state=$place/$long
trap 'as_nobody "$place/script/down" --state "$state" --wipe >/dev/null 2>&1 || true; rm -rf "$place"; clean_up' EXIT
cp -r script "$place/script"
mkdir "$place/bin"
cp "${REMOTIST_BIN:-build/bin}"/{remotist-market,remotist-worker,remotist-runner,volunteer-agent} "$place/bin/"
chown -R nobody:nogroup "$place"
(cd / && as_nobody "$place/script/up" --state "$state") || fail "script/up failed for an ordinary user"
mapfile -t traces < <(traces_of "$state")
answers "$state" || fail "the ordinary user's market does not answer"
[[ ! -L $state/postgres ]] || fail "an ordinary user's data left the state folder"
(cd / && as_nobody "$place/script/down" --state "$state" --wipe) || fail "script/down failed for an ordinary user"
[[ ! -e $state ]] || fail "--wipe left the state folder"
expect_no_process "${traces[@]}"
