#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 120
# beside: others
#
# Limits of stored data: the number of ended containers, and the number of applications with statistics. Both limits are tested
# with thousands of entries, which the suite writes to the journal directly.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

node_proc_start
nmd_configure <<END
[node]
memory = 1000M
[containers]
keep-ended = 24h
END
db=$dir/state/nmd.db
low=(-m 20M -c 0.1)
sql() { /usr/bin/python3 "$dir/sql.py" "$db" "$@"; }
cat >"$dir/sql.py" <<'END_PY'
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
for statement in sys.argv[2:]:
    for row in db.execute(statement):
        print(*row)
db.commit()
END_PY
rss_kib() { awk '$1 == "VmRSS:" { print $2 }' "/proc/$nmd_pid/status"; }
n_dirs() { find "$dir/state/$1" -mindepth 1 -maxdepth 1 -type d -name 'container_*' | wc -l; }

# ---- containers that have ended ---------------------------------------------------------------------------------------

nmd_start || exit 1
submit model "${low[@]}" --app model -- echo words
wait_until 5 ended_as model "0 exited"
submit lives "${low[@]}" --app lives -- sleep 1000
wait_until 5 in_state lives RUNNING
model=$(field_of model .id) lives=$(field_of lives .pid)
nmd_stop
# 4,000 containers of one user, 200 of another user, and 3,000 of root, which has no limit. The numbers are in order of age.
/usr/bin/python3 - "$db" "$dir/state" "$model" <<'END_PY'
import os, shutil, sqlite3, sys
path, state, model = sys.argv[1:]
db = sqlite3.connect(path)
for table in "containers", "commands":
    names = [r[1] for r in db.execute(f"PRAGMA table_info({table})")]
    row = dict(zip(names, db.execute(f"SELECT * FROM {table} WHERE id = ?", (model,)).fetchone()))
    epoch, ended = model.rsplit("_", 1)[0], row.get("finished_usec")
    owners = [54321] * 4000 + [54322] * 200 + [0] * 3000
    for i, uid in enumerate(owners):
        seq = 10 + i
        row["id"] = f"{epoch}_{seq:06d}"
        if table == "containers":
            row.update(seq=seq, submitter_uid=uid, name="", finished_usec=ended - (len(owners) - i))
        db.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", list(row.values()))
        for what in ("containers", "logs") if table == "containers" and uid else ():
            os.makedirs(f"{state}/{what}/{row['id']}", mode=0o700)
db.execute("UPDATE key_values SET value = ? WHERE key = 'store.last_seq'", (str(10 + len(owners)),))
db.commit()
END_PY
epoch=${model%_*}
nmd_start || exit 1
of_user() { sql "SELECT count(*) FROM containers WHERE submitter_uid = $1 AND state = 'COMPLETED'"; }
kept() { nmctl list --all --json | jq --arg from "${epoch}_$1" --arg to "${epoch}_$2" \
    '[.[] | select(.id >= $from and .id <= $to)] | length'; }
down_to() { [ "$(kept 000010 004009)" = 2500 ]; }
check "at most 2,500 ended containers of one user are kept" wait_until 60 down_to
is "the newest 2,500 ended containers of the user are kept" "$(kept 001510 004009)" 2500
is "all ended containers of a user below the limit are kept" "$(kept 004010 004209)" 200
is "all ended containers of root are kept" "$(kept 004210 007209)" 3000
check "the files of removed containers are removed" test ! -e "$dir/state/containers/${epoch}_001509"
check "the logs of removed containers are removed" test ! -e "$dir/state/logs/${epoch}_001509"
check "the files of kept containers are kept" test -e "$dir/state/logs/${epoch}_001510"
is "the directories have no files of other containers" "$(n_dirs containers) $(n_dirs logs)" "2702 2702"
is "live containers keep running" "$(state_of lives) $(field_of lives .pid)" "RUNNING $lives"
if sanitized; then
    diag "nmd had $(($(rss_kib) / 1024)) MiB; no limit is checked, because a sanitizer keeps freed memory"
else
    at_least "memory stays below 24 MiB with 5,700 ended containers" $((24 * 1024 - $(rss_kib))) 0
fi
nmd_stop
is "the journal has only the kept containers of both users" "$(of_user 54321) $(of_user 54322)" "2500 200"

# ---- applications --------------------------------------------------------------------------------------------------------

apps() { sql "SELECT count(*) FROM key_values WHERE key LIKE 'app._%'"; }
known() { sql "SELECT count(*) FROM key_values WHERE key = 'app.$1'"; }
# As many applications as nmd keeps. Each was last used one second after the previous one: first `lives`, then filler00001 and
# so on.
now=$(($(date +%s) - 10000))
sql "DELETE FROM key_values WHERE key LIKE 'app._%'" \
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4094)
     INSERT INTO key_values SELECT printf('app.filler%05d', i), '3 3 1000000 ' || ($now + i) || '000000' FROM n" \
    "INSERT INTO key_values VALUES ('app.lives', '3 3 1000000 ${now}000000')"
nmd_start || exit 1
nmctl run "${low[@]}" --app new1 -- true
nmctl run "${low[@]}" --app filler00002 -- true
for i in 2 3 4; do nmctl run "${low[@]}" --app "new$i" -- true; done
is "nmd also knows an application beyond the limit" "$(field_of lives .state)" RUNNING
nmctl run --name last "${low[@]}" --app new1 -- true
like "statistics of an application beyond the limit are used" "$(field_of last .expected_usec)" "[1-9][0-9]*"
nmctl kill --now --wait lives >/dev/null
nmd_stop
is "the journal has all new applications" "$(known new1) $(known new2) $(known new3) $(known new4)" "1 1 1 1"
is "the applications that were least recently used are removed" \
    "$(known filler00001) $(known filler00003) $(known filler00004) $(known filler00005)" "0 0 0 0"
is "applications that were used recently are kept" "$(known filler00002) $(known filler00006)" "1 1"
is "an application with a live container is kept" "$(known lives)" 1
is "the journal has at most as many applications as the limit" "$(apps)" 4095
done_testing
