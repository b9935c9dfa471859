#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 90
# beside: others
#
# README.md and docs/: each command in them is run by exactly one runner, exactly as the document shows it
# (tests/docs/commands.py lists the runners). This suite runs the commands that work with an nmd from a build, and checks the
# form of the documents.

# In a mount namespace, nmd and its socket have the paths of an installation.
if [ -z "${NMD_DOCS_APART:-}" ] && unshare --mount --propagation private true 2>/dev/null; then
    NMD_DOCS_APART=1 exec unshare --mount --propagation private bash "$0"
fi
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/docs/run-commands.sh
. "$here/../docs/run-commands.sh"
# shellcheck source=tests/docs/tree.sh
. "$here/../docs/tree.sh"

documents=$(cd "$here/../.." && pwd)
docs_commands=$here/../docs/commands.py
mapfile -t all < <(cd "$documents" && printf '%s\n' README.md docs/*.md docs/decisions/*.md)

# The programs get the names that they have in an installation.
bin=$dir/bin
mkdir "$bin"
for program in nmd/nmd nmctl/nmctl sim/nmsim nmscale/nmscale; do
    [ -x "$NMD_TEST_BUILD/$program" ] || program=${program##*/}
    ln -s "$NMD_TEST_BUILD/$program" "$bin"
done
programs="./demo=$documents/demo packaging/build-deb=$documents/packaging/build-deb"
for program in nmd nmctl nmsim nmscale; do programs+=" $program=$bin/$program"; done
complaints() { NMD_DOCS_PROGRAMS=$programs /usr/bin/python3 -B "$docs_commands" --check "$documents" "$@"; }

# ---- the form of the documents ---------------------------------------------------------------------

words=$(wc -w <"$documents/README.md")
check "README has at most 900 words ($words)" test "$words" -le 900
is "each command in the documents has one runner, and each option in the documents exists" \
    "$(cd "$documents" && complaints "${all[@]}" 2>&1)" ""
nobody=no-such # the text in the test document differs from the text in this file
# The test document has one error of each kind, because a check that reports no error may itself be broken.
printf '%s\n' 'Say `nmctl status --colour`, `nmctl fly me`, `systemctl fly` or `nmctl status --watch`.' '```sh' 'true' '```' \
    '```sh cloud' 'true' '```' '```sh tree' "./demo --$nobody" '```' '```sh host' "echo \\" 'x' '```' '' '    indented' '' '```' 'x' '```' \
    >"$dir/wrong.md"
try complaints "$dir/wrong.md"
for fault in "1: .nmctl status --colour.: the help .* has no --colour" "1: .nmctl fly me.: 'nmctl fly' has no help" \
    '1: no block has .systemctl fly.' '2: nobody runs this block' '5: nobody runs this block' \
    "9: no test has this command: ./demo --$nobody" '11: a command is a line' '16: an indented block' '18: a fence that says not'; do
    like "the check of the documents finds this fault: $fault" "$out" "wrong.md:$fault"
done
is "the check of the documents finds no other faults" "$(wc -l <<<"$out")" 9
echo 'It took 12 ms on 2026-11-26 01:12:40 for container_1_2, at 3.5 MiB' >"$dir/a"
echo 'It took 9 s on 2031-01-01 11:11:11 for container_7_000003, at 1 GiB' >"$dir/b"
check "the comparison of output ignores numbers" shows "$dir/a" "$dir/b"
echo 'It takes 9 s' >>"$dir/a"
is "the comparison of output detects changed words" "$(shows "$dir/a" "$dir/b")" "It takes N"

links() { # DOCUMENT: prints the targets of its links within the tree
    grep -oE '\]\([^)]+\)' "$documents/$1" | sed 's/^](//; s/)$//' | grep -v '^https*:'
}
heads() { sed -n 's/^##* //p' "$1" | tr 'A-Z ' 'a-z-' | tr -cd 'a-z0-9\n-'; } # FILE: prints the anchors that GitHub makes from the headings
dead_links() {
    local document link file
    for document in "${all[@]}"; do
        while read -r link; do
            file=$(dirname "$document")/${link%%#*}
            [ -n "${link%%#*}" ] || file=$document
            [ -e "$documents/$file" ] || echo "$document: $link"
            [[ $link != *#* ]] || heads "$documents/$file" | grep -qxF "${link#*#}" || echo "$document: $link"
        done < <(links "$document")
    done
}
is "each link in the documents has a target" "$(dead_links)" ""
unlinked() { # prints the documents to which neither README nor an index links
    local document
    for document in "${all[@]:1}"; do
        case $document in
            docs/decisions/[0-9]*) links docs/decisions/README.md | grep -qxF "${document##*/}" || echo "$document" ;;
            *) links README.md | grep -q "^$document" || echo "$document" ;;
        esac
    done
}
is "README links to each document, and the index links to each decision" "$(unlinked)" ""

# The picture must show a recorded real run.
recording=$here/../demo/recorded.jsonl
check "README's picture can be drawn" /usr/bin/python3 -B "$here/../demo/draw.py" "$recording" "$dir/surge.svg"
check "README's picture shows the recorded run (tests/demo/draw.py draws it)" cmp "$dir/surge.svg" "$documents/docs/surge.svg"
check "README's picture is valid XML" /usr/bin/python3 -c 'import sys, xml.etree.ElementTree as e; e.parse(sys.argv[1])' "$dir/surge.svg"

# ---- the commands ------------------------------------------------------------------------------------

if [ -z "${NMD_DOCS_APART:-}" ]; then
    skip "the commands of the documents" "only root has a mount namespace for them"
    done_testing
fi
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -p "$dir/run" /run/nmd
mount --bind "$dir/run" /run/nmd
mount --bind "$dir" /var/log # nmd.log is written there
node_proc_start 8000 "$(nproc)"
nmd_configure </dev/null

# README starts an nmd. The one that is started here uses the suite's paths. It starts late, so that the next command finds no
# nmd unless the command waits for nmd.
rm "$bin/nmd"
cat >"$bin/nmd" <<END
#!/bin/sh
[ \$# = 0 ] || exec "$NMD" "\$@"
echo \$\$ >>"$dir/started"
sleep 0.5
exec "$NMD" --config "$nmd_conf" --state-dir "$dir/state" --runtime-dir "$dir/run" --slice $slice --backend direct \
    --node-proc "$node_proc"
END
chmod 755 "$bin/nmd"
mkdir "$dir/state"

built_tree "$dir/tree"
unset -f nmctl
PATH=$bin:$PATH
unset NMD_SOCKET # the default is this suite's socket now
at_exit 'nmd_clean_slice try.slice'
end_started() { # ends each nmd that a document has started and that is still running
    local pid
    while read -r pid; do
        [ ! "/proc/$pid/exe" -ef "$NMD" ] || { kill "$pid" && wait_until 10 over "$pid"; }
    done <"$dir/started"
}
at_exit end_started

after_command() {
    case $command in
        'nmd '*'&') nmd_pid=$! ;;
    esac
}
before_command() {
    case $command in
        'nmctl exec '*) wait_until 20 in_state crunch RUNNING ;;
        'nmctl pause '*) wait_until 20 settled crunch ;;
        'nmctl resume '*) wait_until 20 in_state crunch PAUSED ;;
        'nmctl promote '*) wait_until 20 in_state crunch RUNNING ;;
    esac
}
path=$PATH
for document in "${all[@]}"; do
    grep -q '^ *```sh host' "$documents/$document" || continue
    cd "$dir/tree" || exit 1
    play host "$document"
    is "$document: the commands leave the shell's settings unchanged" "${NMD_SOCKET:-} $PATH" " $path"
    PATH=$path
    unset NMD_SOCKET
    # The commands of install.md end nmd.
    nmctl status >/dev/null 2>&1 || { nmd 2>>/var/log/nmd.log & nmd_pid=$!; nmctl --retry 20s status >/dev/null; }
done
all_are_played host
done_testing
