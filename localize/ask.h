/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How nmd asks the localizer (localizer.h) for the resources of a container that is to start, and learns the result. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "localize/cache.h"

struct nm_localizer;
struct nm_localizer_ask;

/* The owner of the container. Both names are used in paths. The names consist of letters, digits, ".", "_" and "-", and
 * begin with a letter or a digit. */
struct nm_localizer_user {
    const char *name, *application;
    uid_t uid;
    gid_t gid;
    const char *account; /* account that the user's containers run as; NULL: the first account with this uid */
};

struct nm_localizer_resource {
    enum nm_visibility visibility;
    const char *uri;
    const char *type;    /* FILE, ARCHIVE or PATTERN */
    const char *pattern; /* the expression of a PATTERN; NULL if the resource has no expression */
    uint64_t timestamp_msec;
    const char *name; /* the resource's file name in its directory; NULL if the name is not known */
    uint64_t room_bytes; /* expected size of the resource on the disk, as the user states it */
};

struct nm_localizer_progress {
    size_t n_done, n;
    uint64_t bytes, total_bytes; /* of the resource being fetched; total_bytes is 0 if the size is not known */
    bool is_unpacking;
};

/* `ended` is called once, never from within nm_localizer_ask(), and may free the ask. result is 0, -EIO with a
 * sentence, or -ENOSPC with a sentence if this host has no room. `progress` may not free the ask. */
struct nm_localizer_listener {
    void (*progress)(struct nm_localizer_ask *ask, const struct nm_localizer_progress *progress, void *userdata);
    void (*ended)(struct nm_localizer_ask *ask, int result, const char *message, void *userdata);
    void *userdata;
};

/* Asks for the resources of a container. All arguments are copied. The rest of a long list is asked for in later turns
 * of the loop, and `ended` reports a failure in those turns. Returns -EINVAL for an invalid name or type. */
int nm_localizer_ask(struct nm_localizer *l, const struct nm_localizer_user *user,
                     const struct nm_localizer_resource *resources, size_t n,
                     const struct nm_localizer_listener *listener, struct nm_localizer_ask **ret);
/* Releases the resources of the ask. A fetch that no other ask waits for is ended. */
struct nm_localizer_ask *nm_localizer_ask_free(struct nm_localizer_ask *ask);
NM_DEFINE_CLEANUP(struct nm_localizer_ask *, nm_localizer_ask_free)

/* Returns the directory of resource i of the list, which the caller frees. NULL: no memory. */
char *nm_localizer_target(const struct nm_localizer_ask *ask, size_t i);

/* Counts of an ask's resources, each counted once. A resource counts as fetched if it was fetched for this ask or for
 * an earlier ask that was still waiting, and as cached if this host already had the resource. usec: time since the ask
 * was made. */
struct nm_localizer_counts {
    uint64_t fetched_bytes, cached_bytes, n_fetched, n_cached, usec;
};
void nm_localizer_count(const struct nm_localizer_ask *ask, struct nm_localizer_counts *ret);

/* Returns whether resource i is available already. */
bool nm_localizer_is_there(const struct nm_localizer_ask *ask, size_t i);

/* Checks whether resource i is still on the disk, under the given name (NULL if the name is not known). If another
 * program has removed the resource, the next ask fetches the resource again. */
bool nm_localizer_check(struct nm_localizer_ask *ask, size_t i, const char *name);
