# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# For the suites that run inside the VM: . "$NMD_VM_LIB". See tests/tap.sh for ok, check, is,
# wait_until and the rest.
# shellcheck source=tests/tap.sh
. "$(dirname "${BASH_SOURCE[0]}")/tap.sh"

# shellcheck disable=SC2034  # for the suites
cg=/sys/fs/cgroup

# Reboots (cleanly, or with "hard" as a power cut would) and runs this suite again with NMD_VM_PHASE
# one higher. What the next phase must know goes to a file in $NMD_VM_STATE.
vm_reboot() {
    [ "${1:-}" != hard ] || touch "$NMD_VM_STATE/crash"
    tap_done=1
    exit 88
}

# The field of a `key value` file, such as memory.events or cgroup.events.
field() { # FILE KEY
    awk -v key="$2" '$1 == key { print $2 }' "$1"
}

unit_prop() { # UNIT PROPERTY
    systemctl show --value -p "$2" "$1"
}
