#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 900
# beside: others
#
# nmsim without a trace: generated days, comparisons of configurations, the results in README and docs/, the figures on which the defaults
# are based, and the pictures.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

# Prefers an nmsim without sanitizers, which ./check passes: sanitizers need four times as long, and 97-simulator covers the same code.
NMSIM=${NMD_TEST_NMSIM:-$NMD_TEST_BUILD/sim/nmsim}
nmsim() { "$NMSIM" "$@"; }

# ---- generated days ----
day=(--generate bursty --hours 4)
nmsim generate bursty --hours 4 >"$dir/a"
nmsim generate bursty --hours 4 --output "$dir/b"
nmsim generate bursty --hours 4 --seed 2 >"$dir/c"
check "the same seed makes the same bytes" cmp "$dir/a" "$dir/b"
check "another seed makes others" bash -c "! cmp -s '$dir/a' '$dir/c'"
sums() { jq -c '.cases[0] | del(.speed, .name)'; }
is "from its file or made on the spot, it is the same" "$(nmsim run --json "$dir/a" | sums)" \
    "$(nmsim run --json "${day[@]}" | sums)"
is "from standard input, too" "$(nmsim run --json - <"$dir/a" | sums)" "$(nmsim run --json "$dir/a" | sums)"
for kind in steady diurnal bursty adversarial; do
    nmsim compare --json --generate $kind --hours 3 --sweep \
        victims=reverse-arrival,least-work-lost,fewest-victims,app-fair >"$dir/json"
    is "$kind: no rule is broken, and every job is accounted for" "$(jq -c '[.cases[] | (.violations == 0) and
        all(.guaranteed, .opportunistic;
            .submitted == .refused + .done + .preempted + .oom_killed + .limit_killed + .running +
                .waiting)] | unique' "$dir/json")" '[true]'
done
check "guaranteed containers outlive the adversary" jq -e 'all(.cases[]; .oom_guaranteed == 0)' "$dir/json"
is "over-allocation pays" "$(nmsim compare --json "${day[@]}" |
    jq '.cases | (.[0].useful_work_ratio == 1) and (.[1].useful_work_ratio > 1.4)')" true
is "the speed is told" "$(nmsim run --json "${day[@]}" | jq '.cases[0].speed.decisions_per_second > 0')" true

# ---- configurations ----
mkdir -p "$dir/my.conf.d"
printf '[over-allocation]\nmemory-threshold = 0.5\ncpu-threshold = 0.5\n' >"$dir/my.conf"
printf '[preemption]\nvictim-order = app-fair\n' >"$dir/my.conf.d/10-order.conf"
is "nmd.conf is read with its drop-ins" "$(nmsim run --json "${day[@]}" --config "$dir/my.conf" |
    jq -r '.cases[0].settings | "\(.cpu_alpha) \(.victim_order)"')" '0.5 app-fair'
try nmsim compare "${day[@]}" --config "$dir/my.conf" --case 'bold: alpha=0.9, beta=0.98' --sweep alpha=0.6,0.97
is "rows of all kinds" "$(sed -n '/|/{s/  .*//;p}' <<<"$out" | grep -v '^ *$' | tr '\n' ',')" \
    'over-allocation off,my.conf,bold,alpha=0.6,'
like "a combination that can't be is left out, and said" "$err" 'omitted.*: 1$'

# ---- the results in README ---------------
# The table of docs/results.md has exactly the figures of nmsim. README's table has some of its columns.
row_of() { sed -n "s/^| $2 | //p" "$here/../../$1"; } # DOCUMENT KIND
days='steady diurnal bursty adversarial'
! counts_coverage || days='' # each takes that program minutes, and finds nothing that the others don't
for kind in $days; do
    nmsim compare -g "$kind" --json >"$dir/$kind.json"
    is "$kind: README's row is that of docs/results.md" "$(row_of README.md "$kind")" \
        "$(row_of docs/results.md "$kind" | awk -F ' [|] | [|]$' '{ print $2 " | " $3 " | " $4 " | " $6 " |" }')"
    is "$kind: which is true" "$(row_of docs/results.md "$kind")" \
        "$(jq -r 'def percent: . * 100 | round | "\(.) %";
            def tenths(unit): . * 10 | round | "\(. / 10 | floor).\(. % 10)\(unit)";
            .cases | [(.[0].cpu | .allocated, .mean | percent), (.[1].cpu.mean | percent), (.[1].useful_work_ratio | tenths(" times")),
                (.[0, 1].lost_share * 100 | tenths(" %"))] | join(" | ") + " |"' "$dir/$kind.json")"
    is "$kind: plain YARN has nothing of ours in it" "$(jq -c '.cases[0] | [.pauses, .kills_by_reason["pause-deadline"]]' \
        "$dir/$kind.json")" '[0,null]'
done
nmsim compare -g diurnal >"$dir/diurnal"
like "a row's name is no riddle" "$(cat "$dir/diurnal")" 'cautious: alpha=0\.6, beta=0\.85\.'
like "the table says what it stands on" "$(cat "$dir/diurnal")" 'over-allocation off: 95 % of CPU allocated and 54 % used'

# The line below the table names the best row. It must be one with over-allocation, although the promise must be kept in it.
named=$(sed -n 's/^Most useful work: //p' "$dir/diurnal")
like "diurnal: the row that is named best over-allocates" "$named" "^(defaults|bold|least-work-lost|kill, don't pause)\$"

# ---- figures on which the defaults are based ----
# The share of possible opportunistic work that is lost by kills, the containers that the kernel kills, and the slowdown of guaranteed
# containers.
sum_of() { # KIND SEED FILTER
    nmsim run -g "$1" --seed "$2" --json | jq -c ".cases[0] | [.violations, .oom_guaranteed, $3]"
}
seeds='1 2 3 4 5'
! grep -qE '__asan_init|__gcov_dump' "$NMSIM" || seeds=1 # whose business is the program, not the policy
for kind in steady diurnal bursty; do
    for seed in $seeds; do
        is "$kind, seed $seed: nine tenths of the oracle's work, little of it lost, nobody killed by the kernel" \
            "$(sum_of "$kind" "$seed" '.oom_opportunistic, .oracle_share >= 0.9, .lost_share <= 0.02,
                .guaranteed.slowdown_p99 <= 1.05, .opportunistic.slowdown_mean <= 1.04')" '[0,0,0,true,true,true,true]'
    done
done
# All guaranteed containers take back all unused resources every few minutes. nmd must learn this instead of losing work all day.
for seed in $seeds; do
    is "adversarial, seed $seed: less than 15 % is lost" "$(sum_of adversarial "$seed" '.lost_share < 0.15')" \
        '[0,0,true]'
done
# The slowdown by shared caches and cores is the one that --interference assumes.
felt() { nmsim run "${day[@]}" --interference "$1" --json | jq '.cases[0].guaranteed.slowdown_p99 * 100 | round'; } # SHARE
is "nothing shared, nothing felt" "$(felt 0)" 100
is "what is shared is felt" "$(felt 0.25 | awk '{ print ($1 > 110 && $1 < 134) }')" 1
is "by default it is 5 %" "$(felt 5%)" "$(nmsim run "${day[@]}" --json | jq '.cases[0].guaranteed.slowdown_p99 * 100 | round')"
like "without the margin, far more is" "$(nmsim run -g adversarial --json --set over-allocation.surge-margin=0s |
    jq '.cases[0].lost_share')" '^0\.[3-6]'

# ---- pictures ----
if command -v gnuplot >/dev/null; then
    check "a picture as SVG" nmsim compare "${day[@]}" --plot "$dir/p.svg"
    check "which is XML" python3 -c 'import sys, xml.etree.ElementTree as e
root = e.parse(sys.argv[1]).getroot()
sys.exit(not (root.tag.endswith("svg") and len(list(root.iter())) > 200))' "$dir/p.svg"
    like "with the names of the rows" "$(cat "$dir/p.svg")" 'cautious'
    check "a picture as PNG" nmsim compare "${day[@]}" --plot "$dir/p.png"
    check "which is whole" python3 -c 'import struct, sys, zlib
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
    check "of many rows" nmsim compare "${day[@]}" --sweep alpha=0.5,0.6,0.7,0.8,0.9 --sweep beta=0.93,0.96 --plot "$dir/q.svg"
    check "and of one" nmsim run "${day[@]}" --plot "$dir/r.svg"
    try nmsim compare "${day[@]}" --plot "$dir/nowhere/p.svg"
    is "where it can't be written, that is an error" "$status" 1
    like "after the table" "$out" 'over-allocation off'
    is "which isn't followed by the picture" "$(grep -c '<svg' <<<"$out")" 0
    like "and it says why" "$err" "nowhere/p.svg is not drawn: it can't be written \(No such file"
else
    skip "pictures" "gnuplot is not installed"
fi
try env PATH="$dir" "$NMSIM" compare "${day[@]}" --plot "$dir/x.svg"
is "without gnuplot it fails" "$status" 1
like "says what to install" "$err" 'apt install gnuplot-nox'
like "and still prints the table" "$out" 'over-allocation off'

# ---- long work shows progress ------------------
slow_trace() { head -n 1 "$dir/a"; sleep 5; tail -n +2 "$dir/a"; }
slow_trace | nmsim run - >"$dir/slow.out" 2>"$dir/slow.err"
at_least "nmsim says at least every two seconds what it waits for" \
    "$(grep -cE '^nmsim: 0:[0-9]{2}  reading standard input(: line [0-9]+)?$' "$dir/slow.err")" 2
like "and prints its report as ever" "$(cat "$dir/slow.out")" 'over-allocation'
mkfifo "$dir/fifo"
slow_trace >"$dir/fifo" &
script -qec "$NMSIM run '$dir/fifo' >/dev/null" /dev/null >"$dir/slow.terminal" </dev/null
is "on a terminal that is one line, which is gone at the end" "$(tr -d '\n' <"$dir/slow.terminal" | tail -c 4 | od -An -tx1 | xargs)" \
    '0d 1b 5b 4b'

done_testing
