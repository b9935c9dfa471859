# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # variables that the sourcing suite sets and uses
#
# The process for auxiliary services that are written in Java, for suites that source jobs.sh with auxhost in jobs_of.

auxhost_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
auxhost_jar=$NMD_TEST_BUILD/java/aux-host/nmd-aux-host.jar
auxhost_fetch() { "$auxhost_here/../../../aux-host/build" "${auxhost_jar%/*}"; }
# Copies the jar to where the account of the services can read them.
auxhost_install() {
    mkdir -p "$shared/services" || return
    cp "$auxhost_jar" "$shared/services/nmd-aux-host.jar" || return
    chmod -R a+rX "$shared/services"
}
# The properties of a node. A JVM with these options starts quickly.
auxhost_properties() {
    printf '%s\n' "nmd.aux-host.class-path=$shared/lib/*" "nmd.aux-host.jar=$shared/services/nmd-aux-host.jar" \
        "nmd.aux-host.java-options=$small" nmd.aux-host.heap-mb=160 nmd.aux-host.memory-mb=640 \
        nmd.aux-host.start-timeout-ms=120000
}
