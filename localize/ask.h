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

/* The owner of the container. Both names are used in paths. They consist of letters, digits, ".", "_" and "-", and
 * begin with a letter or a digit. */
struct nm_localizer_user {
    const char *name, *application;
    uid_t uid;
    gid_t gid;
    const char *account; /* account that its containers run as; NULL: the first account with that uid */
};

struct nm_localizer_resource {
    enum nm_visibility visibility;
    const char *uri;
    const char *type;    /* FILE, ARCHIVE or PATTERN */
    const char *pattern; /* the expression of a PATTERN; NULL: none */
    uint64_t timestamp_msec;
    const char *name; /* its name in its directory; NULL: not known */
    uint64_t room_bytes; /* expected size on the disk, as its user states it */
};

struct nm_localizer_progress {
    size_t n_done, n;
    uint64_t bytes, total_bytes; /* of the resource being fetched; total_bytes 0: the size is not known */
    bool is_unpacking;
};

/* `ended` is called once, never from within nm_localizer_ask(), and may free the ask. result is 0, -EIO with a
 * sentence, or -ENOSPC with a sentence if this host has no room. `progress` may not free the ask. */
struct nm_localizer_listener {
    void (*progress)(struct nm_localizer_ask *ask, const struct nm_localizer_progress *progress, void *userdata);
    void (*ended)(struct nm_localizer_ask *ask, int result, const char *message, void *userdata);
    void *userdata;
};

/* Asks for the resources of a container. Everything is copied. The rest of a long list is asked for in later turns of
 * the loop; a failure there is reported by `ended`. Returns -EINVAL for an invalid name or type. */
int nm_localizer_ask(struct nm_localizer *l, const struct nm_localizer_user *user,
                     const struct nm_localizer_resource *resources, size_t n,
                     const struct nm_localizer_listener *listener, struct nm_localizer_ask **ret);
/* Releases the resources of the ask. A fetch that no other ask waits for is ended. */
struct nm_localizer_ask *nm_localizer_ask_free(struct nm_localizer_ask *ask);
NM_DEFINE_CLEANUP(struct nm_localizer_ask *, nm_localizer_ask_free)

/* Returns the directory of resource i of the list, which the caller frees. NULL: no memory. */
char *nm_localizer_target(const struct nm_localizer_ask *ask, size_t i);

/* Counts of the resources that were asked for, each counted once. A resource counts as fetched if this ask or an
 * earlier one that was still waiting had it fetched, and as cached if it was there already. usec: time since they were
 * asked for. */
struct nm_localizer_counts {
    uint64_t fetched_bytes, cached_bytes, n_fetched, n_cached, usec;
};
void nm_localizer_count(const struct nm_localizer_ask *ask, struct nm_localizer_counts *ret);

/* Returns whether resource i is available already. */
bool nm_localizer_is_there(const struct nm_localizer_ask *ask, size_t i);

/* Checks whether resource i is still on the disk, under that name (NULL: not known). If something else has removed it,
 * the next ask has it fetched again. */
bool nm_localizer_check(struct nm_localizer_ask *ask, size_t i, const char *name);
