#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 120
# beside: others
#
# Full-screen output of nmctl on a pseudoterminal: nmctl redraws it in place, and restores the terminal for every way in which
# nmctl ends.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

nmd_start || exit 1

# on_terminal KEYS WORD...: runs nmctl on a terminal of ${columns:-100} columns and ${rows:-60} lines, and types KEYS after
# nmctl has drawn the screen twice. Keys after a '~' are typed two redraws later. Prints whether the terminal is restored. The
# output is in $seen. After $narrow_after seconds the terminal has 40 columns.
seen=$dir/seen
on_terminal() {
    python3 - "$seen" "$NMCTL" "$@" <<'END'
import fcntl, os, pty, select, signal, struct, sys, termios, time
out, nmctl, keys, words = sys.argv[1], sys.argv[2], sys.argv[3].encode().split(b"~"), sys.argv[4:]
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", int(os.environ.get("rows", 60)), int(os.environ.get("columns", 100)), 0, 0))
before = termios.tcgetattr(slave)
pid = os.fork()
if pid == 0:
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in range(3):
        os.dup2(slave, fd)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.environ.update(TERM="xterm-256color", LC_ALL="C.UTF-8")
    os.execv(nmctl, [nmctl] + words)
seen, end, status, due = b"", time.time() + 20, None, 2
narrow = time.time() + float(os.environ.get("narrow_after", 1000))
while status is None or select.select([master], [], [], 0)[0]:
    if select.select([master], [], [], 0.05)[0]:
        seen += os.read(master, 65536)
    if keys and seen.count(b"\033[?2026h") >= due:
        due = seen.count(b"\033[?2026h") + 2
        os.write(master, keys.pop(0))
    if time.time() > narrow:
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 40, 0, 0))
        narrow += 1000
    if status is None and os.waitpid(pid, os.WNOHANG)[0]:
        status = 0
    if time.time() > end:
        os.kill(pid, signal.SIGKILL)
        print("it did not end")
        break
open(out, "wb").write(seen)
print("restored" if termios.tcgetattr(slave) == before else "changed")
END
}
left_cleanly() { # the last output restores the screen, the line wrapping and the cursor
    [[ $(cat "$seen") == *$'\e[?7h\e[?25h\e[?1049l' ]]
}

is "Ctrl-C ends status --watch" "$(on_terminal $'\x03' status --watch -i 100ms)" "restored"
check "status --watch leaves the alternate screen after Ctrl-C" left_cleanly
like "status --watch draws bars with the block characters of the locale" "$(cat "$seen")" 'α'
check "status --watch draws bars in colour" grep -q $'\e\[31m\|\e\[1;31m\|\e\[2m' "$seen"
is "the key q ends status --watch" "$(on_terminal q status --watch -i 100ms)" "restored"
check "status --watch leaves the alternate screen after the key q" left_cleanly
is "top sorts by memory, and the key q ends top" "$(on_terminal mq top -i 100ms)" "restored"
check "top leaves the alternate screen after the key q" left_cleanly
NO_COLOR=1 on_terminal q status --watch -i 100ms >"$dir/no-color"
check "NO_COLOR disables colours" eval '! grep -q $'"'"'\e\[[0-9;]*m'"'"' "$seen"'

# ---- narrow and wide ----
# Lines must fit on the terminal. Lines that fit must not be cut.
name=a-rather-long-name-of-a-web-server
nmctl run -D --name $name -m 16M -c 0.1 -- sh -c 'exec sleep 1000' some words that make it longer than a narrow terminal is >/dev/null
nmctl run -D --opportunistic -m 16M -c 0.1 --name short -- sleep 1000 >/dev/null
wait_until 10 in_state $name RUNNING
# lines [KIND]: reads the text lines of the second redraw. KIND "long" prints the lines that are longer than $columns, "cut"
# prints the lines that are cut although they are shorter, and "length" prints the length of the longest line.
lines() {
    python3 - "$seen" "$columns" "${1:-all}" <<'END'
import re, sys
text = open(sys.argv[1], "rb").read().decode().split("\033[?2026h")[2]
lines = re.sub(r"\033\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "").split("\n")
width = int(sys.argv[2])
wanted = {"all": lambda l: True, "long": lambda l: len(l) > width, "cut": lambda l: l.endswith("…") and len(l) < width - 1}
if sys.argv[3] == "length":
    print(max(map(len, lines)))
else:
    print("\n".join(filter(wanted[sys.argv[3]], lines)))
END
}
export columns
for columns in 80 200; do
    for what in "status --watch" top; do
        # shellcheck disable=SC2086 # words
        on_terminal q $what -i 100ms >/dev/null
        is "$columns columns: no line of $what is longer than the terminal" "$(lines long)" ''
        is "$columns columns: $what cuts only lines that do not fit" "$(lines cut)" ''
        [ $columns = 80 ] || at_least "$columns columns: a line of $what uses all columns" "$(lines length)" 150
    done
    if [ $columns = 80 ]; then
        like "80 columns: a line of top has the short number, the name and the command" "$(lines)" ' 1  a-r[a-z-]*…? .* sh -c'
    else
        like "200 columns: a line of top has the whole name, the id and more of the command" "$(lines)" \
            "1  container_[0-9]+_000001  $name  guaranteed .*  sh -c 'exec sleep 1000' some words that make"
    fi
done

# ---- wrapping of sentences -----------------------------------------------------------------------
# prose WORD...: prints what nmctl writes to stdout and stderr on a terminal of $columns columns
prose() {
    python3 - "$NMCTL" "$@" <<'END'
import fcntl, os, pty, struct, sys, termios
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 60, int(os.environ["columns"]), 0, 0))
pid = os.fork()
if pid == 0:
    for fd in 1, 2:
        os.dup2(slave, fd)
    os.environ.update(TERM="dumb", LC_ALL="C.UTF-8")
    os.execv(sys.argv[1], sys.argv[1:])
os.close(slave)
text = b""
try:
    while piece := os.read(master, 65536):
        text += piece
except OSError: # no process has the terminal open any more
    pass
os.waitpid(pid, 0)
sys.stdout.write(text.decode().replace("\r", ""))
END
}
words() { tr ' ' '\n' | sed '/^$/d'; }
longest() { awk '{ if (length > n) n = length } END { print n + 0 }'; }
columns=46
for what in "explain $name" "show nobody-has-this-name" "frobnicate" "top --help" "events -n 3"; do
    # shellcheck disable=SC2086 # words
    prose $what >"$dir/narrow"
    # shellcheck disable=SC2086
    nmctl $what >"$dir/wide" 2>&1 || true
    at_least "$what: the output has sentences that are longer than a line" "$(longest <"$dir/wide")" 47
    at_least "$what: long sentences are wrapped" 46 "$(longest <"$dir/narrow")"
    is "$what: sentences are wrapped between words, and no word is lost" "$(words <"$dir/narrow")" "$(words <"$dir/wide")"
done
# Other messages must also fit, except for a path or an id. A path or an id is not wrapped, so that it can be copied.
for columns in 40 60; do
    prose show $name >"$dir/narrow"
    is "show, $columns columns: only a line with a path is longer than the terminal" \
        "$(awk -v n=$columns 'length > n && !/^[a-z]+ +[^ ]+$/' "$dir/narrow")" ''
    is "show, $columns columns: the whole command is printed" "$(sed -n '/^command/,/^user/p' "$dir/narrow" | sed '$d' | words)" \
        "$(nmctl show $name | grep ^command | words)"
    at_least "the result of pause is wrapped" $columns "$(prose pause $name | longest)"
    prose resume $name >/dev/null
    prose status >"$dir/narrow"
    is "status: all continuation lines have the same indentation" "$(grep -nE '^ {14}[^ ]' "$dir/narrow" | grep -vE '[αβ]')" ''
done
name_of_long=/no/such/program-with-a-name-that-leaves-no-room-for-the-other-columns
nmctl run --name long-state -m 16M -c 0.1 -- $name_of_long some words >/dev/null 2>&1 || true
for columns in 80 120; do
    like "list --all, $columns columns: the command is cut, and the state is not cut" "$(prose list --all)" \
        ' Failed \(command not found\)  .*  /no/such[^ ]*…$'
done
# nmctl updates the message about a wait in place. If the terminal can't move the cursor, nmctl prints the message again.
columns=160 on_terminal "" wait --timeout 5s $name >/dev/null
at_least "wait updates its message in place on a terminal" "$(grep -oa $'\e\[1F\e\[J' "$seen" | wc -l)" 2
like "the message of wait has the duration of the wait" \
    "$(tr '\r' '\n' <"$seen")" "^nmctl: waiting for container_[0-9_]+ \($name\), which is RUNNING, for "
like "the message of wait is erased at the end" "$(tr -d '\r\n' <"$seen" | sed 's/.*\x1b\[J//')" \
    "^nmctl: container_[0-9_]+ \($name\) has not ended in time"
narrow_after=3 columns=160 on_terminal "" wait --timeout 6s $name >/dev/null
rows_erased() { # prints the number of erased rows, and of rows that the message occupies in the narrower terminal
    python3 - "$seen" <<'END'
import re, sys
text = open(sys.argv[1], "rb").read().decode()
found = re.search(r"(nmctl: waiting for [^\r\n]*)\r\n\033\[([2-9])F\033\[J", text)
print(found[2], -(-len(found[1]) // 40))
END
}
read -r erased rows_then < <(rows_erased)
is "if the terminal becomes narrower, all rows of the message are erased" "$erased" "$rows_then"
nmctl run -D -m 16M -c 0.1 --name meanwhile -- sleep 3 >/dev/null
(sleep 1.5 && kill -TERM "$nmd_pid") &
stopper=$!
columns=160 on_terminal "" wait --timeout 6s meanwhile >/dev/null
wait $stopper
at_least "if nmd is not running, wait updates the duration in its message" \
    "$(tr '\r' '\n' <"$seen" | grep -cE 'waiting for nmd to return, for [0-9]+s so far')" 3
like "if nmd is not running, wait --timeout ends at its deadline" "$(tr -d '\r\n' <"$seen" | sed 's/.*\x1b\[J//')" \
    "^nmctl: container_[0-9_]+ \(meanwhile\) has not ended in time, as far as nmctl knows: it was RUNNING when nmd answered last"
nmd_stop
nmd_start || exit 1
nmctl run -D -m 16M -c 0.1 --name frozen -- sleep 100 >/dev/null
wait_until 10 in_state frozen RUNNING
(sleep 1.5 && kill -STOP "$nmd_pid" && sleep 7 && kill -CONT "$nmd_pid") &
stopper=$!
begun=$SECONDS
columns=160 on_terminal "" wait --timeout 7s frozen >/dev/null
at_least "if nmd hangs, wait --timeout ends at its deadline" 9 $((SECONDS - begun))
like "if nmd hangs, the message of wait says for how long" \
    "$(tr '\r' '\n' <"$seen")" 'waiting for container_[0-9_]+ \(frozen\); nmd has not answered for [4-6]s'
wait $stopper
nmctl kill --now --wait frozen >/dev/null
is "on a dumb terminal, the message is printed once" "$(columns=200 prose wait --timeout 5s $name | grep -c 'waiting for')" 1
columns=46
prose config max-length >"$dir/narrow"
at_least "config: no line is longer than the terminal" 46 "$(longest <"$dir/narrow")"
is "config: the description of each key is complete" "$(sed 1,2d "$dir/narrow" | words | tail -n 6)" \
    "$(nmctl config max-length | words | tail -n 6)"
unset columns
long=$(printf 'word%03d ' {1..60})
# shellcheck disable=SC2086 # words
nmctl run -D -m 16M -c 0.1 --name long -- sh -c 'exec sleep 1000' $long >/dev/null
like "list prints whole commands if stdout is a pipe" "$(nmctl list)" 'word059 word060$'
like "top prints whole commands if stdout is a pipe" "$(nmctl top)" 'word059 word060$'
is "the width of the terminal has no effect if stdout is a pipe" "$(nmctl list | grep -c 'long .*word060')" 1
nmctl kill --now --wait long >/dev/null

# ---- top's keys ------------------------------------------------------------------------------------
picture() { # prints the last redraw as text
    python3 -c 'import re, sys
text = open(sys.argv[1], "rb").read().decode().split("\033[?2026h")[-1]
print(re.sub(r"\033\[[0-9;?]*[A-Za-z]", "", text).replace("\r", ""))' "$seen"
}
is "in the filter of top, q is a letter; after the filter, q ends top" "$(on_terminal $'/quick~\x15short~\r~q' top -i 100ms)" restored
check "top leaves the alternate screen after a filter was typed" left_cleanly
like "top shows the filter text" "$(picture)" '^1 container with short in it; by cpu, every 100ms; h for keys'
like "the filter of top selects matching containers" "$(picture)" ' short +opportunistic'
is "the filter of top hides all other containers" "$(picture | grep -c "$name")" 0
on_terminal '/short~'$'\e''~q' top -i 100ms >/dev/null
like "Escape removes the filter of top" "$(picture)" "^2 containers; by cpu"
on_terminal 'h~q' top -i 100ms >/dev/null
like "the key h of top shows all keys" "$(picture)" 'r +reverse the order'
on_terminal 'mr+~q' top -i 400ms --filter short >/dev/null
like "keys of top select the sort column, reverse the order and change the interval" \
    "$(picture)" '^1 container with short in it; by memory, reversed, every 200ms'
like "the header of top marks the sort column" "$(picture)" 'MEMORY▲'
rows=4 on_terminal $'\e[B~q' top -i 100ms >/dev/null
like "arrow keys of top scroll if not all rows fit" "$(picture)" '^rows 2 to 2 of 2 containers'
is "top prints all rows if stdout is a pipe" "$(nmctl top --sort name | grep -cE "^ *[12] .* (guaranteed|opportunistic) ")" 2
is "top --filter and --app select rows if stdout is a pipe" \
    "$(nmctl top -f '!short' --json | jq -r '.[].name') $(nmctl top --app none --json)" \
    "$name []"
try nmctl top --state killed
like "top says which command lists ended containers" "$status $err" "^2 .*'nmctl list --state KILLED'"

is "without a terminal, the output has no escape sequences" "$(nmctl status | grep -c $'\e')" 0
is "without a terminal, the output is ASCII in an ASCII locale" "$(LC_ALL=C nmctl status | LC_ALL=C grep -c '[^ -~]')" 0
# The last bytes are a control character of the terminal (CSI) in UTF-8, and the same as a single byte.
odd=$'\xc3\xa4-\xc2\x9b-\x9b' locales=
for locale in C '' xx_YY C.UTF-8; do
    LC_ALL=$locale LC_CTYPE='' LANG='' try nmctl show "$odd"
    locales+="${err#*\'} "
done
like "a message has UTF-8 only if the locale names it, and never a control character" "$locales" \
    "^\?\?-\?\?-\?' .* \?\?-\?\?-\?' .* \?\?-\?\?-\?' .* "$'\xc3\xa4'"-\?-\?' "
done_testing
