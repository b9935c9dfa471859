/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* How nmd requests the resources of a container from the localizer (localizer.h), and how it gets the result. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "localize/cache.h"

struct nm_localizer;
struct nm_localizer_request;

/* The owner of the container. Both names are used in paths. They consist of letters, digits, ".", "_" and "-", and
 * begin with a letter or a digit. */
struct nm_localizer_user {
    const char *name, *application;
    uid_t uid;
    gid_t gid;
    const char *account; /* account under which the user's containers run; NULL: the first account with this uid */
};

struct nm_localizer_resource {
    enum nm_visibility visibility;
    const char *uri;
    const char *type;    /* FILE, ARCHIVE or PATTERN */
    const char *pattern; /* the expression of a PATTERN; NULL if the resource has no expression */
    uint64_t timestamp_msec;
    const char *name; /* the resource's file name in its directory; NULL if the name is not known */
    uint64_t room_bytes; /* expected size of the resource on the disk, as given by the user */
};

struct nm_localizer_progress {
    size_t n_done, n;
    uint64_t bytes, total_bytes; /* bytes of the current fetch; total_bytes is 0 if the size isn't known */
    bool is_unpacking;
};

/* `ended` is called once, never during nm_localizer_request(), and may free the request. result is 0, or -EIO with a
 * sentence, or -ENOSPC with a sentence if this host has no room. `progress` must not free the request. */
struct nm_localizer_listener {
    void (*progress)(struct nm_localizer_request *request, const struct nm_localizer_progress *progress,
                     void *userdata);
    void (*ended)(struct nm_localizer_request *request, int result, const char *message, void *userdata);
    void *userdata;
};

/* Requests the resources of a container. Copies all arguments. For a long list, the remaining resources are requested
 * in later turns of the event loop. A failure in such a turn is reported through `ended`. Returns -EINVAL for an
 * invalid name or type. */
int nm_localizer_request(struct nm_localizer *l, const struct nm_localizer_user *user,
                         const struct nm_localizer_resource *resources, size_t n,
                         const struct nm_localizer_listener *listener, struct nm_localizer_request **ret);
/* Releases the resources of the request. Ends each fetch that no other request waits for. */
struct nm_localizer_request *nm_localizer_request_free(struct nm_localizer_request *request);
NM_DEFINE_CLEANUP(struct nm_localizer_request *, nm_localizer_request_free)

/* Returns the directory of resource i of the list. The caller frees the string. NULL: no memory. */
char *nm_localizer_target(const struct nm_localizer_request *request, size_t i);

/* Numbers of a request's resources, each resource counted once. A resource counts as fetched if it was fetched for this
 * request, or for an earlier request that was still waiting. It counts as cached if this host already had it. usec:
 * time since the request was made. */
struct nm_localizer_counts {
    uint64_t fetched_bytes, cached_bytes, n_fetched, n_cached, usec;
};
void nm_localizer_count(const struct nm_localizer_request *request, struct nm_localizer_counts *ret);

/* Returns whether resource i is already available. */
bool nm_localizer_is_available(const struct nm_localizer_request *request, size_t i);

/* Checks whether resource i is still on the disk, under the given name (NULL if the name isn't known). If another
 * program has removed the resource, the next request fetches it again. */
bool nm_localizer_check(struct nm_localizer_request *request, size_t i, const char *name);
