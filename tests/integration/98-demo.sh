#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 120
#
# ./demo removes everything that it has created at its end. It does so also after Ctrl-C, after a second Ctrl-C during the
# removal, and when the terminal is closed. It reports failed jobs. It reports a difference as a result only if runs of the same
# kind differ less. It regularly shows progress, waits as long as there is progress, adapts the size of its jobs to the machine
# and shows the used resources.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

export TMPDIR=$dir/tmp
mkdir -p "$TMPDIR"
demo_slice() { find "$(nmd_cgroup_root)" -maxdepth 2 -type d -name "nmdemo$demo.slice"; }
demo_runs() { [ "$(find "$(demo_slice)" -mindepth 1 -type d | wc -l)" -ge 2 ]; } # the services of guaranteed containers
demo_processes() { pgrep -f "$TMPDIR/nmd-demo" | xargs; }
demo_gone() { ! kill -0 "$demo" 2>/dev/null; }
end_demo() { # ends the demo if a failed test has left it running
    [ -n "$demo" ] || return 0
    kill -KILL "-$demo"
    demo_processes | xargs -r kill -KILL
    nmd_clean_slice "nmdemo$demo.slice"
} 2>/dev/null
at_exit end_demo

# In this run a job fails, and the path of the build directory is relative.
mkdir -p "$dir/tree/tests"
cp -r "$here/../demo" "$dir/tree/tests"
echo 'raise SystemExit("there is no data")' >"$dir/tree/tests/demo/job.py"
story_of() { # the demo reports the failed job before the first run ends
    case $1 in
        one) wait_until 40 grep -q '[a-z]*-1 failed: exited, exit code 1 (there is no data)' "$dir/demo.out" ;;
        *) wait_until 40 demo_runs ;;
    esac
}
cd "$NMD_TEST_BUILD" || exit 1

demo=
for story in "one" "impatient"; do
    # Runs the demo as on a terminal: in its own process group, and with the default action of SIGINT. Background jobs of a
    # shell ignore SIGINT.
    env --default-signal=INT setsid /usr/bin/python3 "$dir/tree/tests/demo/scenario.py" --build . --plain \
        >"$dir/demo.out" 2>&1 </dev/null &
    demo=$!
    story_of "$story" || { not_ok "$story: the demo starts" "$(tail -n 20 "$dir/demo.out")"; exit 1; }
    kill -INT "-$demo"
    if [ "$story" = impatient ]; then
        while kill -INT "-$demo" && kill -HUP "-$demo"; do sleep 0.05; done 2>/dev/null
    fi
    check "$story: the demo ends" wait_until 40 demo_gone
    status=0
    wait "$demo" || status=$?
    is "$story: the demo's exit status is that of Ctrl-C" "$status" 130
    is "$story: the demo leaves no cgroup" "$(demo_slice)" ""
    is "$story: the demo leaves no process" "$(demo_processes)" ""
    is "$story: the demo leaves no file" "$(ls "$TMPDIR")" ""
done

# ---- result messages of the demo --------
python() { PYTHONPATH=$here/../demo /usr/bin/python3 -B -c "$1"; }
says() { # NAME WORDS JOBS RATES FOREIGN: figures of two runs with over-allocation and two runs without
    like "$1" "$(python "import compare; print(*compare.report($3, $4, $5))")" "$2"
}
quiet='[[0.02, 0.03], [0.02, 0.02]]'
same='[[1000, 1010], [1005, 1015]]'
says "twice as many jobs are reported as a result" \
    'Batch jobs: 10\.5 instead of 5 were done \(110% more, 2\.1 times as many\)' '[[10, 11], [5, 5]]' \
    "$same" "$quiet"
says "a gain as small as the difference between equal runs is reported as no result" 'Batch jobs: no result\. 8 instead of 7 .* by 2\.' \
    '[[7, 9], [6, 8]]' "$same" "$quiet"
says "a gain of less than twice the difference between equal runs is reported as no result" \
    'Batch jobs: no result\. 9 instead of 6 ' '[[8, 10], [6, 6]]' "$same" "$quiet"
says "a difference of speed within the difference between equal runs is reported as equal speed" \
    'Guaranteed work: as fast as without \(0\.5% apart, .* by 1\.0%\)' '[[9, 9], [5, 5]]' \
    "$same" "$quiet"
says "a slowdown beyond the difference between equal runs is reported" \
    'Guaranteed work: 10\.0% slower' '[[9, 9], [5, 5]]' '[[900, 900], [1000, 1000]]' "$quiet"
says "a speedup of guaranteed work is never reported as a result" 'Guaranteed work: no result \(14\.3% apart, .* by 9\.1%\)' \
    '[[9, 9], [5, 5]]' '[[1095, 1186], [1000, 996]]' "$quiet"
says "a missing figure is reported as no result" "Guaranteed work: no result, " '[[9, 9], [5, 5]]' '[[900, None], [1, 2]]' "$quiet"
says "no result is reported if other programs used the host's CPUs" \
    'No result: other work used 20% to 25% .* when the machine is idle, or see a recorded run: \./demo --replay' \
    '[[10, 11], [5, 5]]' "$same" '[[0.2, 0.2], [0.25, 0.2]]'

# ---- sizes of jobs and services ----
# A job computes for the same time on any machine: on a machine with a fourth of the speed, the job has a fourth of the work.
# With these services most of the CPU is idle without over-allocation.
cpu_of_job() { python "import plan
j = plan.job($1, 1536)
print(int(1000 * j.rounds * j.units / $1), j.rounds * j.wait < plan.JOB_SECONDS < 5)"; } # SPEED: prints milliseconds
for speed in 4000 16000 64000; do
    is "a job needs 10 ms of a CPU that computes $speed units per second" "$(cpu_of_job $speed)" '10 True'
done
is "the demo measures the speed of the machine in units of work" "$(python 'import work
clock = [0.0]
def unit(): clock[0] += 0.004
print(round(work.calibrate(clock=lambda: clock[0], unit=unit)))')" 250
is "the services request four fifths of the node, and use a fifth of their request" "$(python 'import plan
s = plan.services(24, 2, 1536)
print(round(sum(x.memory_mib for x in s) / 1536, 1), round(sum(x.vcores for x in s) / plan.VCORES, 1),
      round(sum(x.plan[0][1] for x in s) / 2, 2), round(sum(x.plan[0][2] for x in s) / 1536, 2))')" '0.8 0.8 0.16 0.14'
is "the bar shows the use of the guaranteed containers, and not their request" "$(python 'import picture
c = [{"memory_used_bytes": 256 << 20, "cpu_used_millicores": 500}, {"memory_used_bytes": None, "cpu_used_millicores": None}]
print(picture.used(c, 1024, 2), picture.bar(
    0.25, 0.8, 0.95, 20, False))')" \
    "{'memory': 0.25, 'cpu': 0.25} █████░░░░░░░░░░░α░░β"

# The sentences about the runs with plain YARN must be true for these runs.
is "only runs with over-allocation mention that memory is lent" "$(python "import plan
print([plan.phase_of(t, 24, over) for over in (True, False) for t in (1, 23)])")" "['services are quiet: what they hold and do not use \
is lent out', 'services are quiet again', 'services are quiet: what they do not use lies idle', 'services are quiet again']"
is "the sentence about the other work on the node appears only with over-allocation" "$(python "import scenario
for over in (True, False):
    cpu = scenario.Cpu(None, over)
    cpu.samples.extend([0] * 6)
    cpu.shares = lambda since=None: (0, 0.38)
    cpu.node = type('', (), {'own_cpu_seconds': lambda self: 0})()
    cpu.update([], print)")" "other work uses 38% of this machine's CPUs: that is not lent out
other work uses 38% of this machine's CPUs"

# ---- a recording of the demo ----
# Writes a recording of two runs with one frame each and their results. The program's own modules write it, because a real run
# takes two minutes.
python "import picture, recording
status = {'node': {'over_allocation_threshold': {'memory': 0.8, 'cpu': 0.8}, 'preemption_threshold': {'memory': 0.95, 'cpu': 0.95},
    'allocated': {k: {'memory_bytes': 0, 'vcores': 1} for k in ('guaranteed', 'opportunistic')}, 'capacity': {'vcores': 16}},
    'containers': {'guaranteed_running': 0, 'opportunistic_running': 1, 'paused': 0, 'queued': 0},
    'preemptions': {'paused': 0, 'resumed': 0, 'killed': 0}}
job = {'id': 'c1', 'name': 'index-1', 'execution_type': 'OPPORTUNISTIC', 'state': 'RUNNING', 'memory_used_bytes': 256 << 20,
       'cpu_used_millicores': 10}
r = recording.Recorder('$dir/made.jsonl', seconds=24)
for over in (True, False, False, True):
    frame = picture.frame_of(1.0, status, [job], 1024, {})
    r.put(frame | {'messages': ['index-1 is done']})
    r.put({'over_allocation': over, 'jobs': 30 if over else 10, 'failed': [], 'cpu': 0.3, 'foreign': 0.02, 'memory': 0.5, 'paused': 0,
           'killed': 0, 'wasted': 0, 'waited': 9.5, 'rate': 1000.0, 'share': 0.97, 'explain': ''})
r.write()"
/usr/bin/python3 -B "$here/../demo/scenario.py" --replay "$dir/made.jsonl" >"$dir/replay.out" 2>&1
is "a recording is replayed without delays if stdout is not a terminal" $? 0 || diag "$(tail -n 5 "$dir/replay.out")"
"$here/../../demo" --replay --plain >"$dir/shipped.out" 2>&1
is "the recording in the source tree can be replayed" $? 0 || diag "$(tail -n 5 "$dir/shipped.out")"
# head ends after one line. The demo then ends by SIGPIPE like other programs, but first removes everything that it has created.
pipe() { "$@" 2>"$dir/pipe.err" | head -n 1 >/dev/null; echo "${PIPESTATUS[0]} $(cat "$dir/pipe.err")"; }
# A replay may have written everything before head ends. So its pipe has no reader from the start.
without_reader() {
    local fd
    mkfifo "$dir/pipe" && exec 9<>"$dir/pipe" && exec {fd}>"$dir/pipe" && exec 9<&-
    "$@" 1>&"$fd" 2>"$dir/pipe.err"
    echo "$? $(cat "$dir/pipe.err")"
}
is "the replay ends by SIGPIPE when its pipe is closed" "$(without_reader "$here/../../demo" --replay --plain)" "141 "
talk="import progress, sys, time
def main():
    gauge = progress.Progress()
    gauge.step('step')
    try:
        print('begun', flush=True)
        time.sleep(0.5)
        for i in range(1000 if sys.argv[1] == 'much' else 0):
            print(i, flush=True)
        time.sleep(10)
    except KeyboardInterrupt: # as the demo's own signal handler does
        sys.exit(130)
    finally:
        print('tidying up', flush=True)
        gauge.stop()
        print('tidied up', file=sys.stderr)
progress.run(main)"
for talk_of in much little; do # with little output, only the thread that reports the duration finds the closed terminal
    is "the demo reports its cleanup after Ctrl-C (output: $talk_of)" \
        "$(PYTHONPATH=$here/../demo pipe env --default-signal=INT /usr/bin/python3 -B -c "$talk" $talk_of)" \
        "141 tidied up"
done
is "all four demos use the same main program" \
    "$(grep -lx '    progress.run(main)' "$here"/../demo/{scenario,packing,yarn,lending}.py | wc -l)" 4
like "the recording in the source tree shows a gain" "$(tr -s '\n ' ' ' <"$dir/shipped.out")" \
    'Batch jobs: [0-9.]+ instead of [0-9.]+ were done \([0-9]+% more, ([2-9]|1\.[89])'
like "the recording in the source tree has guaranteed work of equal speed within 2 %" "$(cat "$dir/shipped.out")" \
    'Guaranteed work: (as fast as without|no result) \(([01]\.[0-9]|2\.0)% apart'
like "the replay says that it shows a recording" "$(head -n 1 "$dir/replay.out")" \
    'This is a recorded run of \./demo, recorded on 20[0-9-]+ \([0-9]+ CPUs, .*\)'
is "the replay shows all four runs" "$(grep -c '^== run [1-4] of 4: ' "$dir/replay.out")" 4
is "the replay shows the events of the runs" "$(grep -c '^  1\.0s  index-1 is done$' "$dir/replay.out")" 4
like "the replay prints the result of the recorded runs" \
    "$(tr -s '\n ' ' ' <"$dir/replay.out")" '30 instead of 10 were done \(200% more, 3\.0 times as many\)'
is "the replay refuses a file that is not a recording" \
    "$(python 'import recording; recording.load("/etc/hostname")' 2>&1 | tail -n 1 | cut -c 1-37)" \
    'demo: /etc/hostname can'"'"'t be replayed'

# The demo checks --seconds before it installs or builds anything. scenario.py has the same message.
for seconds in 5 19 x 20s -20 1e9; do
    try timeout 20 "$here/../../demo" --seconds "$seconds" --prepare --build "$dir/never"
    is "--seconds $seconds is refused before anything is built" \
        "$status $err" "2 demo: --seconds must be at least 20: the story has its phases"
done
check "no build directory is created for a refused --seconds" test ! -e "$dir/never"
try /usr/bin/python3 -B "$here/../demo/scenario.py" --seconds 19 --build .
is "scenario.py refuses the same --seconds with the same message" "$err" "demo: --seconds must be at least 20: the story has its phases"
try "$here/../../demo" --seconds 20 --replay --plain
is "with the smallest allowed --seconds, the demo has enough jobs" "$status" 0

# ---- progress of long work ----
# shellcheck source=tests/progress.sh
. "$here/../progress.sh"
chatter='for i in 1 2 3 4 5; do echo "part $i"; sleep 1; done'
progress_run 'some step' "$dir/work.log" bash -c "$chatter; exit 3" 2>"$dir/work.err"
is "progress_run returns the exit status of its command" $? 3
at_least "progress_run prints the step, the time and the last message every two seconds" \
    "$(grep -cE '^some step +0:0[0-9]  part [1-5]$' "$dir/work.err")" 3
words='many words, of which only some fit'
for width in 35 34 33 20 13 12 4; do
    is "a line that is cut to $width characters ends at a word" "$(progress_cut $width "$words")" "$(python "import progress
print(progress.cut('$words', $width))")"
    [ "$width" -gt 33 ] || like "a cut line ends with dots" "$(progress_cut $width "$words")" \
        '^(many( words(, of( which( only( some)?)?)?)?)?|m)\.\.\.$'
done
is "a line that fits is not cut" "$(progress_cut 34 "$words")" "$words"
is "the longest line of the demo is not cut" "$(python "import plan, picture, progress
g = progress.Progress()
g.step('run 4 of 4, ' + max((plan.phase_of(t, 24, o) for t in range(24) for o in (True, False)), key=len) + '; ' + picture.summed_up(
    {'running': (10, 100), 'used': {'memory': 1.0, 'cpu': 1.0}, 'paused': 100, 'queued': 100}))
print(g.line()[-21:])
g.stop()")" ' 100 paused, 100 wait'
# The log of a package's build has only commands, so build-deb prints its own sentences as progress.
eval "$(sed -n '/^package_progress()/,/^}/p' "$here/../../packaging/build-deb")"
printf '%s\n' 'dpkg-buildpackage: info: source package nmd' >"$dir/deb.log"
is "the progress of a package's build names dpkg-buildpackage before the first step" "$(package_progress "$dir/deb.log")" dpkg-buildpackage
printf '%s\n' ' debian/rules binary' '   dh_auto_configure -- --with-x' 'checking for gcc' >>"$dir/deb.log"
is "the progress of a package's build names the current step" "$(package_progress "$dir/deb.log")" dh_auto_configure
printf '%s\n' '   dh_auto_build' 'musl-gcc -O2 -c -o a.o a.c' 'gcc -O2 -c -o b.o b.c' "  7 |   x" '    |   ^' >>"$dir/deb.log"
is "the progress of a package's build counts compiled files" "$(package_progress "$dir/deb.log")" "dh_auto_build: 2 files compiled"
printf '%s\n' 'ar cr libnm-b.a b.o' 'ranlib libnm-b.a' 'gcc -O2 -o nmd a.o libnm-b.a' '[INFO] Compiling 12 sources' >>"$dir/deb.log"
is "the progress of a package's build counts libraries and linked programs, and shows Maven's lines" "$(package_progress "$dir/deb.log")" \
    "dh_auto_build: 2 files compiled, 2 libraries and programs linked: [INFO] Compiling 12 sources"
printf '%s\n' '   dh_strip' >>"$dir/deb.log"
is "the counts of a package's build start again at the next step" "$(package_progress "$dir/deb.log")" dh_strip
patience_seconds=2
(bash -c "$chatter; touch $dir/up; sleep 60") >"$dir/slow.log" 2>&1 &
slow=$!
at_exit 'end_process_tree "$slow"'
end_process_tree() { pkill -P "$1"; kill "$1"; } 2>/dev/null
check "work that makes progress may print nothing for longer than the limit" \
    patient_until 'it does not come up' "$slow=$dir/slow.log" -- test -e "$dir/up"
patient_until 'it does not come up' "$slow=$dir/slow.log" -- false 2>"$dir/work.err"
is "work without progress is stopped after the limit" $? 1
like "the error names the limit and says that there was no progress" \
    "$(cat "$dir/work.err")" 'gave up after [2-9] s: it does not come up: nothing has happened for 2 s'
like "the error has the last lines of the work's output" "$(cat "$dir/work.err")" '^    part 5'
like "the error suggests what to try" \
    "$(tail -n 1 "$dir/work.err")" '^(This machine is busy .* try again|The machine is not busy .* lines above say)'
(echo 'no such key: colour'; exit 1) >"$dir/dead.log" 2>&1 &
dead=$!
patient_until 'it does not come up' "$slow=$dir/slow.log" "$dead=$dir/dead.log" -- false 2>"$dir/work.err"
like "if one of two programs fails, the error has the lines of the failed program" "$(cat "$dir/work.err")" \
    'its process has ended; the last lines of dead\.log:'
like "the lines of the failed program are printed unchanged" "$(cat "$dir/work.err")" 'no such key: colour'
like "the Python variant of progress_run stops work without progress too" "$(python "import progress, subprocess, time
log = open('$dir/p.log', 'w')
p = subprocess.Popen(['bash', '-c', 'echo part; sleep 60'], stdout=log)
patience = progress.Patience('it does not come up', p, '$dir/p.log', idle=1)
gauge = progress.Progress()
gauge.step('a step', '$dir/p.log')
try:
    while True:
        patience.check()
        time.sleep(0.1)
finally:
    time.sleep(1.5)
    p.kill()" 2>&1 | xargs)" \
    '0:01 a step: part .*gave up after 1 s: it does not come up: nothing has happened for 1 s; the last lines of p.log: part'
mkdir "$dir/proc"
printf 'cpu  100 0 100 800 0 0 0 0 0 0\n' >"$dir/proc/stat"
(sleep 0.5; printf 'cpu  160 0 120 820 0 0 0 0 0 0\n' >"$dir/proc/stat.new"; mv "$dir/proc/stat.new" "$dir/proc/stat") &
is "the percentage of busy CPUs is measured within a second" "$(busy_percent "$dir/proc")" 80
done_testing
