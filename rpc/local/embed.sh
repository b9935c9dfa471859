#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Turns files into C arrays on standard output: embed.sh NAME FILE [NAME FILE]...
set -eu
echo '/* Made by rpc/local/embed.sh. */'
echo '#include "rpc/local/embedded.h"'
while [ $# -ge 2 ]; do
    echo "const unsigned char nm_embedded_$1[] = {"
    od -An -v -tx1 "$2" | sed 's/ \([0-9a-f][0-9a-f]\)/0x\1,/g'
    echo "};"
    echo "const size_t nm_embedded_$1_len = sizeof nm_embedded_$1;"
    shift 2
done
