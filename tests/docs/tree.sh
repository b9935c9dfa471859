# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# For suites that run commands of documents: creates a tree like the tree of a user who has built nmd in ./build.

built_tree() { # DIRECTORY: creates it, with links to the sources and the build
    local top
    top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
    mkdir "$1"
    ln -s "$top"/* "$1"
    rm -f "$1/build"
    ln -s "$NMD_TEST_BUILD" "$1/build"
}
