#!/usr/bin/env bash
# A server of PostgreSQL is restored as its administrators do it: to a point in time, from a base backup and archived
# logs, and by putting its data directory back. Each time a spend is lost, and the ledger must be found to lack it.
# usage: postgres_restores.sh PROGRAM
set -euo pipefail
program=$(realpath "$1")
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
[[ -n $bin ]] || { echo "PostgreSQL is missing: scripts/bootstrap test installs it" >&2; exit 1; }
folder=$(mktemp -d "${TMPDIR:-/tmp}/noisefloor_restore_XXXXXX")
server=()  # the server refuses to run as root
if [[ $(id -u) -eq 0 ]]; then
  server=(runuser -u postgres --)
  chown postgres "$folder"
fi
export NOISEFLOOR_LEDGER="postgresql:///postgres?host=$folder&user=postgres"
export NOISEFLOOR_LEDGER_KEY=$folder/ledger.key
cd "$folder"

stop() { "${server[@]}" "$bin/pg_ctl" -D "$folder/data" -m fast -w stop >/dev/null; }
clean() {
  "${server[@]}" "$bin/pg_ctl" -D "$folder/data" -m immediate -w stop >/dev/null 2>&1 || true
  rm -rf "$folder"
}
trap clean EXIT
start() {
  "${server[@]}" "$bin/pg_ctl" -D "$folder/data" -l "$folder/log" -w start \
    -o "-k $folder -c listen_addresses=''" >/dev/null </dev/null
}
sql() { "$bin/psql" -h "$folder" -U postgres -d postgres -qAtc "$1" >/dev/null; }
fail() { echo "postgres_restores: $1" >&2; exit 1; }

machine() { export NOISEFLOOR_STATE_DIR=$folder/$1; }  # the counters of this machine
spend() { "$program" budget reserve trial --key "$1" --noise-multiplier 20 >"$folder/said" 2>&1; }
expect_found() {  # WHAT: a spend must be refused as a failed verification
  local code=0
  spend "$1" || code=$?
  [[ $code -eq 6 ]] || fail "$1: the spend ended with $code instead of 6: $(cat "$folder/said")"
}

"${server[@]}" "$bin/initdb" -D "$folder/data" -U postgres -A trust -E UTF8 --locale=C >/dev/null
"${server[@]}" mkdir "$folder/archive"
"${server[@]}" tee -a "$folder/data/postgresql.conf" >/dev/null <<CONF
wal_level = replica
archive_mode = on
archive_command = 'cp %p $folder/archive/%f'
restore_command = 'cp $folder/archive/%f %p'
recovery_target_action = promote
CONF
start
machine here
"$program" budget create trial --epsilon 3 --delta 1e-5 >/dev/null
spend first || fail "the first spend: $(cat said)"

# --- To a point in time: a new timeline of the server
"${server[@]}" "$bin/pg_basebackup" -h "$folder" -U postgres -D "$folder/base" -c fast
sql "select pg_create_restore_point('before')"
spend second || fail "the second spend: $(cat said)"
sql "select pg_switch_wal()"
stop
"${server[@]}" mv "$folder/data" "$folder/lost"
"${server[@]}" mv "$folder/base" "$folder/data"
"${server[@]}" touch "$folder/data/recovery.signal"
"${server[@]}" tee -a "$folder/data/postgresql.conf" >/dev/null <<<"recovery_target_name = 'before'"
start
for _ in $(seq 300); do  # until the server has recovered and accepts writes
  [[ $("$bin/psql" -h "$folder" -U postgres -d postgres -qAtc 'select pg_is_in_recovery()') == f ]] && break
  sleep 0.1
done
expect_found "a point in time, on the machine that spent"
machine elsewhere
expect_found "a point in time, on a machine that never saw the ledger"
machine here
code=0
"$program" budget adopt --reason restored >said 2>&1 || code=$?
[[ $code -eq 6 ]] || fail "the adoption that loses an entry ended with $code: $(cat said)"
"$program" budget adopt --reason restored --lost >said 2>&1 || fail "the adoption that says so: $(cat said)"
"$program" budget verify >said 2>&1 || fail "verify after the adoption: $(cat said)"
spend third || fail "a spend after the adoption: $(cat said)"

# --- The data directory of the server is put back: the same timeline
stop
"${server[@]}" cp -a "$folder/data" "$folder/copy"
start
spend fourth || fail "the fourth spend: $(cat said)"
stop
"${server[@]}" rm -rf "$folder/data"
"${server[@]}" mv "$folder/copy" "$folder/data"
start
expect_found "the data directory"
echo "Both restored servers were found."
