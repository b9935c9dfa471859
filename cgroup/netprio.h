/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sets the priority of a cgroup's sockets. cgroup v2 has no file for this (version 1 had net_prio), so a BPF program of
 * three instructions sets the priority when a socket is created. The priority is a default and not enforced: a program
 * may set SO_PRIORITY or IP_TOS itself.
 */

#include "cgroup/cgroup.h"

#define NM_NETPRIO_BACKGROUND 2 /* TC_PRIO_BULK */

/* Loads the program and sets feature[NM_CGROUP_NET_PRIORITY] to whether the program can be used. */
void nm_netprio_probe(struct nm_cgroup_backend *b);
