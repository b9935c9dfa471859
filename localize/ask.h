/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a container that is to start asks the localizer (localizer.h) for, and how it hears of it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "localize/cache.h"

struct nm_localizer;
struct nm_localizer_ask;

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
    uint64_t room_bytes; /* what it may take on the disk, as far as its user says */
};

struct nm_localizer_progress {
    size_t n_done, n;
    uint64_t bytes, total_bytes; /* of the one that is on its way; total 0: nobody knows */
    bool is_unpacking;
};

/* `ended` comes once, never from within nm_localizer_ask(), and may free the ask; result is 0, or -EIO
 * and a sentence; likewise -ENOSPC, where there was no room here. `progress` may not free it. */
struct nm_localizer_listener {
    void (*progress)(struct nm_localizer_ask *ask, const struct nm_localizer_progress *progress, void *userdata);
    void (*ended)(struct nm_localizer_ask *ask, int result, const char *message, void *userdata);
    void *userdata;
};

/* All is copied. Of a long list the rest is asked for in later turns of the loop, where what fails is the ask's end.
 * -EINVAL: a name or a type isn't one. */
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
