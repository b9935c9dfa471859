/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Localization in nmd: who starts a container asks for its resources and hears when they are there. Fetching and
 * removing is done by workers (nm-localizer) with the rights of those whose files they are; this decides who fetches
 * what, once for all that ask, and keeps what is there within its room. All of it is in the one loop.
 */

#include <stdbool.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include <jansson.h>

#include "localize/ask.h"

/* The PATH of workers and of their commands. */
#define NM_LOCALIZER_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

struct nm_localizer_params {
    sd_event *event;
    const char *program;   /* nm-localizer's path */
    const char *local_dir;
    const char *state_dir; /* nmd's own: what is known of the cache */
    const char *boot_id;
    uid_t public_uid;
    gid_t public_gid;
    uint64_t cache_max_bytes;
    unsigned max_workers;
    uint64_t worker_max_bytes; /* of memory */
    uint64_t silent_usec;      /* a worker that has reported nothing for so long is ended; 0: five minutes */
    uint64_t stalled_usec;     /* and one that waits so long for a byte; 0: four times silent_usec */
    uint64_t checked_usec;     /* for how long a tree isn't looked at again that was whole; 0: ten seconds */
    uint64_t retry_first_usec, retry_most_usec; /* pauses of leftovers.h; 0: its defaults */
    void (*tell)(int level, const char *sentence); /* writes to the node's log; may be NULL */
    json_t *settings; /* "name_nodes", "commands" and "limits" of each worker's work (work.h); or NULL */
};

int nm_localizer_new(const struct nm_localizer_params *params, struct nm_localizer **ret);
/* Ends all workers. All asks have been freed. */
struct nm_localizer *nm_localizer_free(struct nm_localizer *l);
NM_DEFINE_CLEANUP(struct nm_localizer *, nm_localizer_free)

/* Removes what stands at the absolute path, with that account's rights, when a worker has time for it; `ended` is
 * called then, however that went, but not if the localizer is freed before. */
int nm_localizer_remove(struct nm_localizer *l, const char *user, uid_t uid, gid_t gid, const char *path,
                        void (*ended)(void *userdata), void *userdata);

/* After a restart, when all containers that run still have asked again: from now on there may be too much. */
void nm_localizer_begin_to_tidy(struct nm_localizer *l);
void nm_localizer_end_application(struct nm_localizer *l, const char *user, const char *application);
/* How many of these it has, or is fetching, for this user. */
size_t nm_localizer_count_known(const struct nm_localizer *l, const struct nm_localizer_user *user,
                                const struct nm_localizer_resource *resources, size_t n);
/* The room that the others of these are said to take. */
uint64_t nm_localizer_count_missing_bytes(const struct nm_localizer *l, const struct nm_localizer_user *user,
                                          const struct nm_localizer_resource *resources, size_t n);
/* From now on it keeps no more of what nobody uses. */
void nm_localizer_set_room(struct nm_localizer *l, uint64_t cache_max_bytes);
uint64_t nm_localizer_bytes(const struct nm_localizer *l);
