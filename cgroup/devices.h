/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The list of devices that a scope may use, for systemd's DeviceAllow=. systemd has no list of forbidden devices. So
 * the list has all devices except those of struct nm_cgroup_devices that the container may not use:
 *
 *   block-*                all block devices
 *   char-MAJOR             the character devices of each driver in /proc/devices, except those of the restricted major
 *                          number; and the major numbers that the kernel assigns to drivers that are loaded later, such
 *                          as nvidia-uvm
 *   /dev/char/MAJOR:MINOR  the accessible devices of the restricted major number. systemd takes the numbers from the
 *                          path, so this file need not exist.
 *
 * The code is pure.
 */

#include "cgroup/cgroup.h"

/* Receives one entry of the list. Returns 0 or a positive value, or -errno, which ends the list. */
typedef int (*nm_devices_put_t)(void *userdata, const char *device, const char *permissions);

/* Passes each entry to `put`. proc_devices: the contents of /proc/devices. Returns 0 or the error of `put`. */
int nm_devices_list(const struct nm_cgroup_devices *d, const char *proc_devices, nm_devices_put_t put, void *userdata);
