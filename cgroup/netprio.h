/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Priority of a cgroup's sockets: cgroup v2 has no file for it (version 1 had net_prio). So a BPF program of
 * three instructions sets it when a socket is made. It is a default, not a fence: a program may set
 * SO_PRIORITY or IP_TOS itself.
 */

#include "cgroup/cgroup.h"

#define NM_NETPRIO_BACKGROUND 2 /* TC_PRIO_BULK */

/* Loads the program and says in feature[NM_CGROUP_NET_PRIORITY] whether that can be had. */
void nm_netprio_probe(struct nm_cgroup_backend *b);
