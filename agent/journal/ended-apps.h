/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What became of applications: their containers that have ended are summed up here, and stay for a day, when the
 * containers themselves have long been forgotten. There is room for so many, and for so many of one user; the one
 * that was heard of least lately gives way. In the state directory there is a file with a slot for each, so that a
 * restart of nmd keeps them; nothing is decided by it.
 */

#include "agent/status.h"

#define NM_ENDED_APPS 240
#define NM_ENDED_APPS_PER_USER 80 /* root's excepted */
#define NM_ENDED_APPS_USEC (24 * 3600 * NM_USEC_PER_SEC)
#define NM_ENDED_APP_SLOT_BYTES 384

struct nm_ended_apps;

/* Reads the file of an earlier nmd. Returns 0 or -ENOMEM; *ret_error is why this one can't write to it, or 0. */
int nm_ended_apps_new(const char *state_dir, struct nm_ended_apps **ret, int *ret_error);
struct nm_ended_apps *nm_ended_apps_free(struct nm_ended_apps *a);
NM_DEFINE_CLEANUP(struct nm_ended_apps *, nm_ended_apps_free)

/* Counts the end of a container for its application, if it has one. Returns 1 if that is on disk, 0 if there is
 * nothing to write or no file, or -errno. */
int nm_ended_apps_add(struct nm_ended_apps *a, const struct nm_container *c);

/* Returns entry i of NM_ENDED_APPS, which have no order. NULL: it is empty, or older than since_usec. */
const struct nm_ended_app *nm_ended_apps_get(const struct nm_ended_apps *a, unsigned i, uint64_t since_usec);

/* As it is in the file, filled up with zeroes; and back: 0 or -EBADMSG. The text is taken apart. */
void nm_ended_app_print(const struct nm_ended_app *e, char *text, size_t size);
int nm_ended_app_parse(char *text, struct nm_ended_app *ret);
