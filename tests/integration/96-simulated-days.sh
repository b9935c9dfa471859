#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 900
# beside: others
#
# nmsim without a trace: generated days, comparisons of configurations, the results in README and docs/, the figures that
# justify the defaults, and the pictures.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

# Prefers an nmsim without sanitizers, which ./check passes. An nmsim with sanitizers is four times slower, and 97-simulator
# covers the same code.
NMSIM=${NMD_TEST_NMSIM:-$NMD_TEST_BUILD/sim/nmsim}
nmsim() { "$NMSIM" "$@"; }

# ---- generated days ----
day=(--generate bursty --hours 4)
nmsim generate bursty --hours 4 >"$dir/a"
nmsim generate bursty --hours 4 --output "$dir/b"
nmsim generate bursty --hours 4 --seed 2 >"$dir/c"
check "nmsim generate writes identical traces for the same seed" cmp "$dir/a" "$dir/b"
check "nmsim generate writes different traces for different seeds" bash -c "! cmp -s '$dir/a' '$dir/c'"
sums() { jq -c '.cases[0] | del(.speed, .name)'; }
is "a generated trace has the same results from a file as from nmsim run --generate" "$(nmsim run --json "$dir/a" | sums)" \
    "$(nmsim run --json "${day[@]}" | sums)"
is "a trace from standard input has the same results as from a file" \
    "$(nmsim run --json - <"$dir/a" | sums)" "$(nmsim run --json "$dir/a" | sums)"
for kind in steady diurnal bursty adversarial; do
    nmsim compare --json --generate $kind --hours 3 --sweep \
        victims=reverse-arrival,least-work-lost,fewest-victims,app-fair >"$dir/json"
    is "$kind: no invariant is violated, and every job is accounted for" "$(jq -c '[.cases[] | (.violations == 0) and
        all(.guaranteed, .opportunistic;
            .submitted == .refused + .done + .preempted + .oom_killed + .limit_killed + .running +
                .waiting)] | unique' "$dir/json")" '[true]'
done
check "no guaranteed container is killed by the kernel in the adversarial workload" jq -e 'all(.cases[]; .oom_guaranteed == 0)' "$dir/json"
is "over-allocation completes more work than plain YARN" "$(nmsim compare --json "${day[@]}" |
    jq '.cases | (.[0].useful_work_ratio == 1) and (.[1].useful_work_ratio > 1.4)')" true
is "the JSON report has the number of decisions per second" \
    "$(nmsim run --json "${day[@]}" | jq '.cases[0].speed.decisions_per_second > 0')" true

# ---- configurations ----
mkdir -p "$dir/my.conf.d"
printf '[over-allocation]\nmemory-threshold = 0.5\ncpu-threshold = 0.5\n' >"$dir/my.conf"
printf '[preemption]\nvictim-order = app-fair\n' >"$dir/my.conf.d/10-order.conf"
is "nmsim reads nmd.conf with its drop-ins" "$(nmsim run --json "${day[@]}" --config "$dir/my.conf" |
    jq -r '.cases[0].settings | "\(.cpu_alpha) \(.victim_order)"')" '0.5 app-fair'
try nmsim compare "${day[@]}" --config "$dir/my.conf" --case 'bold: alpha=0.9, beta=0.98' --sweep alpha=0.6,0.97
is "nmsim compare with --case and --sweep prints a row for each configuration" \
    "$(sed -n '/|/{s/  .*//;p}' <<<"$out" | grep -v '^ *$' | tr '\n' ',')" \
    'over-allocation off,my.conf,bold,alpha=0.6,'
like "a sweep omits invalid combinations and reports their number" "$err" 'omitted.*: 1$'

# ---- the results in README ---------------
# The table of docs/results.md has exactly the figures of nmsim. The table of README has some of its columns.
row_of() { sed -n "s/^| $2 | //p" "$here/../../$1"; } # DOCUMENT KIND
days='steady diurnal bursty adversarial'
! counts_coverage || days='' # with the coverage build, each day takes minutes, and covers no additional code
for kind in $days; do
    nmsim compare -g "$kind" --json >"$dir/$kind.json"
    is "$kind: the row in README is the same as in docs/results.md" "$(row_of README.md "$kind")" \
        "$(row_of docs/results.md "$kind" | awk -F ' [|] | [|]$' '{ print $2 " | " $3 " | " $4 " | " $6 " |" }')"
    is "$kind: the row in docs/results.md has the results of this run" "$(row_of docs/results.md "$kind")" \
        "$(jq -r 'def percent: . * 100 | round | "\(.) %";
            def tenths(unit): . * 10 | round | "\(. / 10 | floor).\(. % 10)\(unit)";
            .cases | [(.[0].cpu | .allocated, .mean | percent), (.[1].cpu.mean | percent), (.[1].useful_work_ratio | tenths(" times")),
                (.[0, 1].lost_share * 100 | tenths(" %"))] | join(" | ") + " |"' "$dir/$kind.json")"
    is "$kind: plain YARN has neither pauses nor kills by a pause deadline" \
        "$(jq -c '.cases[0] | [.pauses, .kills_by_reason["pause-deadline"]]' \
        "$dir/$kind.json")" '[0,null]'
done
nmsim compare -g diurnal >"$dir/diurnal"
like "the table describes the settings of each row" "$(cat "$dir/diurnal")" 'cautious: alpha=0\.6, beta=0\.85\.'
like "the table has the allocated and used CPU without over-allocation" \
    "$(cat "$dir/diurnal")" 'over-allocation off: 95 % of CPU allocated and 54 % used'

# The line below the table names the best row. The best row must be one with over-allocation, although it must also keep the
# promise to guaranteed containers.
named=$(sed -n 's/^Most useful work: //p' "$dir/diurnal")
like "diurnal: the best row has over-allocation" "$named" "^(defaults|bold|least-work-lost|kill, don't pause)\$"

# ---- figures that justify the defaults ----
# Three figures: the share of possible opportunistic work that is lost by kills, the number of containers that the kernel kills,
# and the slowdown of guaranteed containers.
sum_of() { # KIND SEED FILTER
    nmsim run -g "$1" --seed "$2" --json | jq -c ".cases[0] | [.violations, .oom_guaranteed, $3]"
}
seeds='1 2 3 4 5'
! grep -qE '__asan_init|__gcov_dump' "$NMSIM" || seeds=1 # a build for coverage or with a sanitizer tests the program and not the policy
for kind in steady diurnal bursty; do
    for seed in $seeds; do
        is "$kind, seed $seed: at least 90 % of the possible work is done, little is lost, and the kernel kills no container" \
            "$(sum_of "$kind" "$seed" '.oom_opportunistic, .oracle_share >= 0.9, .lost_share <= 0.02,
                .guaranteed.slowdown_p99 <= 1.05, .opportunistic.slowdown_mean <= 1.04')" '[0,0,0,true,true,true,true]'
    done
done
# All guaranteed containers take back all unused resources every few minutes. nmd must adapt to these surges instead of losing
# work all day.
for seed in $seeds; do
    is "adversarial, seed $seed: at least 45 % of the possible work is done, and less than 10 % is lost" \
        "$(sum_of adversarial "$seed" '.oracle_share >= 0.45, .lost_share < 0.1')" '[0,0,true,true]'
done
# The slowdown by shared caches and cores is the slowdown that --interference sets.
felt() { nmsim run "${day[@]}" --interference "$1" --json | jq '.cases[0].guaranteed.slowdown_p99 * 100 | round'; } # SHARE
is "without --interference, no container is slowed down" "$(felt 0)" 100
is "--interference slows down containers that share the node" "$(felt 0.25 | awk '{ print ($1 > 110 && $1 < 134) }')" 1
is "the default of --interference is 5 %" \
    "$(felt 5%)" "$(nmsim run "${day[@]}" --json | jq '.cases[0].guaranteed.slowdown_p99 * 100 | round')"
like "without the surge margin, containers are slowed down far more" \
    "$(nmsim run -g adversarial --json --set over-allocation.surge-margin=0s |
    jq '.cases[0].lost_share')" '^0\.[3-6]'

# ---- pictures ----
if command -v gnuplot >/dev/null; then
    check "nmsim --plot writes an SVG file" nmsim compare "${day[@]}" --plot "$dir/p.svg"
    check "the SVG file is valid XML" python3 -c 'import sys, xml.etree.ElementTree as e
root = e.parse(sys.argv[1]).getroot()
sys.exit(not (root.tag.endswith("svg") and len(list(root.iter())) > 200))' "$dir/p.svg"
    like "the SVG file has the names of the rows" "$(cat "$dir/p.svg")" 'cautious'
    check "nmsim --plot writes a PNG file" nmsim compare "${day[@]}" --plot "$dir/p.png"
    check "the PNG file is complete" python3 -c 'import struct, sys, zlib
d = open(sys.argv[1], "rb").read()
assert d[:8] == b"\x89PNG\r\n\x1a\n"
at, seen, pixels = 8, [], b""
while at < len(d):
    n, kind = struct.unpack(">I4s", d[at:at + 8])
    body = d[at + 8:at + 8 + n]
    assert zlib.crc32(kind + body) == struct.unpack(">I", d[at + 8 + n:at + 12 + n])[0]
    seen.append(kind)
    if kind == b"IDAT": pixels += body
    at += 12 + n
assert seen[-1] == b"IEND" and len(set(zlib.decompress(pixels))) > 20' "$dir/p.png"
    check "nmsim --plot writes a picture of a sweep with many rows" \
        nmsim compare "${day[@]}" --sweep alpha=0.5,0.6,0.7,0.8,0.9 --sweep beta=0.93,0.96 --plot "$dir/q.svg"
    check "nmsim --plot writes a picture of one row" nmsim run "${day[@]}" --plot "$dir/r.svg"
    try nmsim compare "${day[@]}" --plot "$dir/nowhere/p.svg"
    is "nmsim fails if the picture can't be written" "$status" 1
    like "nmsim prints the table before it fails to write the picture" "$out" 'over-allocation off'
    is "nmsim prints no part of the picture after the failure" "$(grep -c '<svg' <<<"$out")" 0
    like "the error names the file and the reason" "$err" "can't write the plot .*nowhere/p.svg: No such file"
else
    skip "pictures" "gnuplot is not installed"
fi
try env PATH="$dir" "$NMSIM" compare "${day[@]}" --plot "$dir/x.svg"
is "nmsim --plot fails if gnuplot is not installed" "$status" 1
like "the error without gnuplot names the package to install" "$err" 'apt install gnuplot-nox'
like "without gnuplot, the table is still printed" "$out" 'over-allocation off'

# ---- long work shows progress ------------------
slow_trace() { head -n 1 "$dir/a"; sleep 5; tail -n +2 "$dir/a"; }
slow_trace | nmsim run - >"$dir/slow.out" 2>"$dir/slow.err"
at_least "nmsim prints its progress at least every two seconds" \
    "$(grep -cE '^nmsim: 0:[0-9]{2}  reading standard input(: line [0-9]+)?$' "$dir/slow.err")" 2
like "the report after the progress is complete" "$(cat "$dir/slow.out")" 'over-allocation'
mkfifo "$dir/fifo"
slow_trace >"$dir/fifo" &
script -qec "$NMSIM run '$dir/fifo' >/dev/null" /dev/null >"$dir/slow.terminal" </dev/null
is "on a terminal, progress is one line, and is erased at the end" \
    "$(tr -d '\n' <"$dir/slow.terminal" | tail -c 4 | od -An -tx1 | xargs)" \
    '0d 1b 5b 4b'

done_testing
