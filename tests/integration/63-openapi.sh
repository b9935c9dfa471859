#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 180
# beside: others
#
# The HTTP interface against its description: schemathesis generates valid and invalid requests from openapi.json, and checks
# whether the real nmd responds as described. The submitted commands really run. So the client is an administrator but not root,
# and the commands run as a user that owns no files.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

python=$NMD_TEST_BUILD/python
"$here/../deps" --python "$python" >&2 || skip_all "schemathesis can't be installed from PyPI"

make_shared_dir
NMD_SOCKET=$shared/nmd.sock
uid=54321
nmd_configure <<END
[node]
memory = 1000M
[interface]
admin-group = games
[containers]
min-uid = 1000
END
node_proc_start
nmd_start || exit 1
port=$(free_port)
/usr/bin/python3 "$here/relay.py" "$NMD_SOCKET" "$uid" "$(getent group games | cut -d: -f3)" "$port" 2>"$dir/relay.err" &
# shellcheck disable=SC2034 # it is used when the suite ends
relay_pid=$!
at_exit 'kill "$relay_pid" 2>/dev/null'
reached() { curl -sS --max-time 5 "http://127.0.0.1:$port/$1"; }
wait_until 10 reached healthz >/dev/null || diag "$(tail -n 5 "$dir/relay.err")"
reached v1/openapi.json >"$dir/openapi.json"
version=$(reached v1/version)

# Requests that follow output or wait don't end, so the suite excludes them. A missing user or directory is refused even if its
# name is valid. A request for exec without an upgrade of the connection is refused before nmd checks the body.
cat >"$dir/schemathesis.toml" <<'END'
continue-on-failure = true
parameters = { "query.follow" = "false" }
[[operations]]
include-operation-id = "submit"
checks.positive_data_acceptance.expected-statuses = ["2xx", "400", "401", "403", "404", "409", "422", "429", "503"]
[[operations]]
include-operation-id = "exec"
checks.positive_data_acceptance.expected-statuses = ["101", "400", "404", "409", "426", "503"]
checks.negative_data_rejection.expected-statuses = ["400", "403", "404", "405", "415", "422", "426", "429", "503"]
END
ask_all() { # PHASES OPTION...
    timeout 150 "$python/bin/schemathesis" --config-file "$dir/schemathesis.toml" run "$dir/openapi.json" \
        -u "http://127.0.0.1:$port" --phases "$1" --seed 1 --request-timeout 10 --exclude-operation-id wait \
        --generation-database none --no-color --warnings off "${@:2}" 2>&1
}
cd "$dir" || exit 1
ask_all coverage,fuzzing --max-examples 20 >"$dir/answers" && status=0 || status=$?
is "nmd answers as openapi.json says" "$status" 0 || diag "$(tail -n 150 "$dir/answers")"
at_least "schemathesis has sent enough requests" "$(sed -n 's/^ *\([0-9]*\) generated.*/\1/p' "$dir/answers")" 1000
is "the nmd that was started is still the one that responds" "$(reached v1/version)" "$version"
nmd_alive || not_ok "nmd still runs"
done_testing
