# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# For suites that run commands of documents as they are written: creates a tree like that of a user who has built nmd in ./build.

built_tree() { # DIRECTORY, which is made; of links
    local top
    top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
    mkdir "$1"
    ln -s "$top"/* "$1"
    rm -f "$1/build"
    ln -s "$NMD_TEST_BUILD" "$1/build"
}
