#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The demo's opportunistic jobs: real work on real files of this host, a few CPU seconds each, results thrown away.
#   jobs.sh compress|hash|sort|compile SIZE
# SIZE scales the work; 4 is about five seconds of one CPU.
set -euo pipefail # a pipe whose first part fails is no job that is done
kind=$1 size=$2
tree=$(cd "$(dirname "$0")/../.." && pwd)

real_files() { # MIB: as much of the installed programs and libraries
    find /usr/bin /usr/lib -xdev -type f -size +20k -print0 2>/dev/null | sort -z |
        xargs -0 cat 2>/dev/null | head -c "${1}M" || true
}

case $kind in
    compress) real_files $((size * 2)) | xz -6 -T1 -c | wc -c ;;
    hash)
        # enough rounds to be worth a container: a hash alone is done in a blink
        for ((i = 0; i < size; i++)); do
            real_files 250 | sha256sum
        done ;;
    sort)
        # holds what it sorts in memory: the kind of job that is in the way when memory gets short
        real_files $((size * 25)) | od -An -v -tx4 -w16 | LC_ALL=C sort -S 200M --parallel=1 | uniq -c | wc -l ;;
    compile)
        for ((i = 0; i < size; i++)); do
            for file in "$tree"/agent/policy/*.c "$tree"/util/*.c; do
                gcc -std=gnu17 -O3 -w -D_GNU_SOURCE -DNM_VERSION='"demo"' -I"$tree" -I"${NMD_BUILD:-$tree/build}" \
                    -c "$file" -o /dev/null
            done
        done ;;
    *) echo "jobs.sh: no such job: $kind" >&2; exit 2 ;;
esac
