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

#include "localize/cache.h"

/* The PATH of workers and of their commands. */
#define NM_LOCALIZER_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

struct nm_localizer;
struct nm_localizer_ask;

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
    uint64_t retry_first_usec, retry_most_usec; /* pauses of leftovers.h; 0: its defaults */
    void (*tell)(int level, const char *sentence); /* writes to the node's log; may be NULL */
    json_t *settings; /* "name_nodes", "commands" and "limits" of each worker's work (work.h); or NULL */
};

/* Whose the container is. Names stand in paths: letters, digits, and ".", "_" and "-" not at the beginning. */
struct nm_localizer_user {
    const char *name, *application;
    uid_t uid;
    gid_t gid;
    const char *account; /* as whom its containers run; NULL: the first account with that uid */
};

struct nm_localizer_resource {
    enum nm_visibility visibility;
    const char *uri;
    const char *type;    /* FILE, ARCHIVE or PATTERN */
    const char *pattern; /* of a PATTERN that has one, else NULL */
    uint64_t timestamp_msec;
    const char *name; /* what it is called in its directory; NULL: not known */
};

struct nm_localizer_progress {
    size_t n_done, n;
    uint64_t bytes, total_bytes; /* of the one that is on its way; total 0: nobody knows */
    bool is_unpacking;
};

/* `ended` comes once, never from within nm_localizer_ask(), and may free the ask; result is 0, or -EIO and a sentence.
 * `progress` may not free it. */
struct nm_localizer_listener {
    void (*progress)(struct nm_localizer_ask *ask, const struct nm_localizer_progress *progress, void *userdata);
    void (*ended)(struct nm_localizer_ask *ask, int result, const char *message, void *userdata);
    void *userdata;
};

int nm_localizer_new(const struct nm_localizer_params *params, struct nm_localizer **ret);
/* Ends all workers. All asks have been freed. */
struct nm_localizer *nm_localizer_free(struct nm_localizer *l);
NM_DEFINE_CLEANUP(struct nm_localizer *, nm_localizer_free)

/* -EINVAL: a name or a type isn't one. */
int nm_localizer_ask(struct nm_localizer *l, const struct nm_localizer_user *user,
                     const struct nm_localizer_resource *resources, size_t n,
                     const struct nm_localizer_listener *listener, struct nm_localizer_ask **ret);
/* Gives back what it has; what nobody else waits for is fetched no further. */
struct nm_localizer_ask *nm_localizer_ask_free(struct nm_localizer_ask *ask);
NM_DEFINE_CLEANUP(struct nm_localizer_ask *, nm_localizer_ask_free)

/* The directory in which the resource of that place in the list stands, for the caller to free; NULL: no memory. */
char *nm_localizer_target(const struct nm_localizer_ask *ask, size_t i);

/* What became of the resources that were asked for, each once: what had to be fetched, for this ask or for one that was
 * before it and still waited, and what was there by then. usec: since they were asked for. */
struct nm_localizer_counts {
    uint64_t fetched_bytes, cached_bytes, n_fetched, n_cached, usec;
};
void nm_localizer_count(const struct nm_localizer_ask *ask, struct nm_localizer_counts *ret);

/* Is it there already? */
bool nm_localizer_is_there(const struct nm_localizer_ask *ask, size_t i);

/* Is it on the disk still, under that name (NULL: not known)? If not, somebody else has removed it: the next ask has it
 * fetched anew. */
bool nm_localizer_check(struct nm_localizer_ask *ask, size_t i, const char *name);

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
/* From now on it keeps no more of what nobody uses. */
void nm_localizer_set_room(struct nm_localizer *l, uint64_t cache_max_bytes);
uint64_t nm_localizer_bytes(const struct nm_localizer *l);
