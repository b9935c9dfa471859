/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What became of applications: their containers that have ended are summed up here, and stay for a day, when the
 * containers themselves have long been forgotten. There is room for so many, and for so many of one user; the one
 * that was heard of least lately gives way. In the state directory there is a file with a slot for each, so that a
 * restart of nmd keeps them; nothing is decided by it.
 */

#include "agent/agent.h"

#define NM_ENDED_APPS 240
#define NM_ENDED_APPS_PER_USER 80 /* root's excepted */
#define NM_ENDED_APPS_USEC (24 * 3600 * NM_USEC_PER_SEC)
#define NM_ENDED_APP_SLOT_BYTES 384

struct nm_ended_apps;

/* Reads what an earlier nmd has left. 0 or -ENOMEM; *ret_error: why nothing can be kept, or 0. */
int nm_ended_apps_new(const char *state_dir, struct nm_ended_apps **ret, int *ret_error);
struct nm_ended_apps *nm_ended_apps_free(struct nm_ended_apps *a);
NM_DEFINE_CLEANUP(struct nm_ended_apps *, nm_ended_apps_free)

/* Of a container that has ended; if it belongs to no application, nothing. 1: it is on disk; 0: there is
 * nothing to write, or nowhere; -errno: it can't be written. */
int nm_ended_apps_add(struct nm_ended_apps *a, const struct nm_container *c);

/* The i-th of NM_ENDED_APPS in no order. NULL: there is none, or none that is heard of since. */
const struct nm_ended_app *nm_ended_apps_get(const struct nm_ended_apps *a, unsigned i, uint64_t since_usec);

/* As it is in the file, filled up with zeroes; and back: 0 or -EBADMSG. The text is taken apart. */
void nm_ended_app_print(const struct nm_ended_app *e, char *text, size_t size);
int nm_ended_app_parse(char *text, struct nm_ended_app *ret);
