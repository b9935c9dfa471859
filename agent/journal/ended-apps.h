/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Summarizes the ended containers of each application. A summary is kept for a day, long after the containers
 * themselves were removed. The number of summaries is limited, in total and per user; a new summary replaces the
 * summary that was updated least recently. A file in the state directory has a slot for each summary, so that
 * summaries survive a restart of nmd. No decision depends on summaries.
 */

#include "agent/status.h"

#define NM_ENDED_APPS 240
#define NM_ENDED_APPS_PER_USER 80 /* does not apply to root */
#define NM_ENDED_APPS_USEC (24 * 3600 * NM_USEC_PER_SEC)
#define NM_ENDED_APP_SLOT_BYTES 384

struct nm_ended_apps;

/* Reads the file of an earlier nmd. Returns 0 or -ENOMEM; *ret_error is the reason why this nmd cannot write the file,
 * or 0. */
int nm_ended_apps_new(const char *state_dir, struct nm_ended_apps **ret, int *ret_error);
struct nm_ended_apps *nm_ended_apps_free(struct nm_ended_apps *a);
NM_DEFINE_CLEANUP(struct nm_ended_apps *, nm_ended_apps_free)

/* Counts the end of a container for its application, if the container has an application. Returns 1 if the count is on
 * disk, 0 if there is no change or no file, or -errno. */
int nm_ended_apps_add(struct nm_ended_apps *a, const struct nm_container *c);

/* Returns entry i of NM_ENDED_APPS; the entries are not ordered. NULL: the entry is empty, or older than since_usec. */
const struct nm_ended_app *nm_ended_apps_get(const struct nm_ended_apps *a, unsigned i, uint64_t since_usec);

/* Print an entry as the file stores it, padded with zeroes, and parse it: 0 or -EBADMSG. Parsing modifies the text. */
void nm_ended_app_print(const struct nm_ended_app *e, char *text, size_t size);
int nm_ended_app_parse(char *text, struct nm_ended_app *ret);
