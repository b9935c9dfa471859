/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Localization in nmd. The code that starts a container requests the container's resources, and is called when they are
 * available. Workers (nm-localizer) fetch and remove resources with the rights of the accounts that own the files. The
 * localizer decides which worker fetches which resource, and fetches each resource only once for all containers that
 * request it. It also keeps the cache within its size. The localizer runs in the event loop.
 */

#include <stdbool.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include <jansson.h>

#include "localize/localizer-request.h"

/* The PATH of workers and of their commands. */
#define NM_LOCALIZER_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

struct nm_localizer_params {
    sd_event *event;
    const char *program;   /* nm-localizer's path */
    const char *local_dir;
    const char *state_dir; /* nmd's directory for the files of cache-file.c */
    const char *boot_id;
    uid_t public_uid;
    gid_t public_gid;
    uint64_t cache_max_bytes;
    unsigned max_workers;
    uint64_t worker_max_bytes; /* limit on a worker's memory */
    uint64_t silent_usec;      /* a worker that sends no report for this time is killed; 0: five minutes */
    uint64_t stalled_usec;     /* a worker that receives no byte for this time is killed; 0: four times silent_usec */
    uint64_t checked_usec;     /* a tree that was found complete isn't checked again for this time; 0: ten seconds */
    uint64_t retry_first_usec, retry_most_usec; /* pauses of leftovers.h; 0: the defaults in leftovers.h */
    void (*report_cb)(int level, const char *sentence); /* writes to the node's log; may be NULL */
    json_t *settings; /* "name_nodes", "commands" and "limits" of each worker's work (worker/work.h); may be NULL */
};

int nm_localizer_new(const struct nm_localizer_params *params, struct nm_localizer **ret);
/* Ends all workers. The caller must have freed all requests before. */
struct nm_localizer *nm_localizer_free(struct nm_localizer *l);
NM_DEFINE_CLEANUP(struct nm_localizer *, nm_localizer_free)

/* Sets whether the local directory can be used. While it can't, the localizer has no file open in it, so that its disk
 * can be unmounted, and removes nothing. Initially the directory is usable. Returns 0, or -errno if the directory can't
 * be opened. */
int nm_localizer_set_usable(struct nm_localizer *l, bool is_usable);

/* Removes the n absolute paths with the account's rights, when a worker is free. One worker removes them all, because a
 * process takes longer than the removal of a few files. `ended` is called afterwards, whether or not the removals
 * succeeded. It isn't called if the localizer is freed before. */
int nm_localizer_remove(struct nm_localizer *l, const char *user, uid_t uid, gid_t gid, const char *const *paths,
                        size_t n, void (*ended)(void *userdata), void *userdata);

/* Allows removals to begin. Must be called after a restart, once the resources of all running containers are
 * retained. */
void nm_localizer_allow_removals(struct nm_localizer *l);

/* The files of the cache that a container uses which an earlier nmd has started. They are not removed. A struct
 * initialized with {} has none. */
struct nm_localizer_retained {
    uint64_t *ids;
    size_t n, room;
};
/* Adds to *retained all entries of these resources, so that they are not removed. The container's links may lead to any
 * of them: besides the entry that new containers get, the cache may have entries that were given up while the container
 * used them. Fetches and checks nothing. -ENOMEM: only some entries were added. */
int nm_localizer_retain(struct nm_localizer *l, const struct nm_localizer_user *user,
                        const struct nm_localizer_resource *resources, size_t n,
                        struct nm_localizer_retained *retained);
/* Releases the entries, and frees the list. */
void nm_localizer_retained_done(struct nm_localizer *l, struct nm_localizer_retained *retained);

void nm_localizer_end_application(struct nm_localizer *l, const char *user, const char *application);
/* Returns how many of these resources the cache already contains, or is fetching, for this user. */
size_t nm_localizer_count_known(const struct nm_localizer *l, const struct nm_localizer_user *user,
                                const struct nm_localizer_resource *resources, size_t n);
/* Returns the expected total size of the resources that the cache doesn't contain. */
uint64_t nm_localizer_count_missing_bytes(const struct nm_localizer *l, const struct nm_localizer_user *user,
                                          const struct nm_localizer_resource *resources, size_t n);
/* Sets the limit on the size of the cache, above which unused resources are removed. */
void nm_localizer_set_room(struct nm_localizer *l, uint64_t cache_max_bytes);
uint64_t nm_localizer_bytes(const struct nm_localizer *l);
