/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* State shared by the files that implement localizer.h. localizer-request.c stores what was requested, localizer.c
 * handles the results, and check.c checks resources on the disk and gives up entries whose resources are damaged. */

#include <sys/queue.h>

#include "localize/batches.h"
#include "localize/localizer.h"
#include "util/clock.h"
#include "util/loop.h"

/* Number of resources that are requested, or released, in one turn of the event loop. Each resource may need file
 * system calls. */
#define NM_LOCALIZER_PIECE NM_BATCH_MAX
/* Time per turn of the event loop for releasing resources or sending them to be removed. File systems may be slow. */
#define NM_LOCALIZER_PIECE_USEC NM_USEC_PER_MSEC

/* A fetch of a resource. The cache entry points to it during the fetch (nm_cache_entry.fetch). */
struct nm_localizer_fetch {
    struct nm_batch_refs batches;
    LIST_HEAD(, nm_localizer_wait) waits; /* one for each request, even if the request has several names for the
                                             resource */
    uint64_t reported_usec;               /* time of the last progress report of the fetch */
    bool is_full;                         /* the fetch failed because of a lack of room */
};

/* Links a request to the fetch of one of its resources. request is NULL while the wait is in no list. */
struct nm_localizer_wait {
    LIST_ENTRY(nm_localizer_wait) link;
    struct nm_localizer_request *request;
    size_t n;
};

/* Links a request to the check of one of its resources. It continues after the check. request is NULL while
 * the wait is in no list. */
struct nm_localizer_check_wait {
    LIST_ENTRY(nm_localizer_check_wait) link;
    struct nm_localizer_request *request;
};

/* The parameters of a request: user and resources. The request owns the strings. */
struct nm_localizer_request_spec {
    struct nm_localizer_user user;
    struct nm_localizer_resource resources[];
};

/* The resources of one container. The request keeps the resources in use until the request is freed, when the container
 * has ended. */
struct nm_localizer_request {
    TAILQ_ENTRY(nm_localizer_request) link, requesting_link, end_link;
    struct nm_localizer *localizer;
    struct nm_localizer_listener listener;
    struct nm_localizer_request_spec *spec; /* NULL: all resources have been requested */
    uint64_t *ids;
    uint8_t *found; /* NM_CACHE_E_* of each resource at the time of its request */
    struct nm_localizer_wait *waits; /* only the element of the first resource with an id is used */
    uint32_t *firsts;                /* hash table by id: index + 1 of the first resource with the id; 0: a free slot */
    size_t n_firsts;                 /* a power of two */
    struct nm_localizer_check_wait *check_waits; /* one for each resource of a piece; NULL until the first check */
    size_t n_looked, n_checks; /* resources checked or being checked; resources whose checks are pending */
    size_t n, n_requested, n_waiting, n_released;
    uint64_t requested_usec, reported_usec; /* reported_usec: time of the last progress report */
    char *message; /* why the request failed */
    int result;
    bool has_failed, has_ended, is_ending, is_checking;
};

TAILQ_HEAD(nm_localizer_requests, nm_localizer_request);

struct nm_localizer {
    struct nm_localizer_params params;
    struct nm_cache *cache;
    int program_fd, local_fd, state_fd;
    char *local_dir, *boot_id;
    struct nm_batches *batches;
    struct nm_leftovers *leftovers;
    struct nm_localizer_requests requests, releasing; /* releasing: requests that were freed but have resources left to
                                                         release */
    /* requesting: requests with resources left to request; ending: requests whose callback `ended` hasn't been called
     * yet */
    struct nm_localizer_requests requesting, ending;
    struct nm_localizer_requests checking; /* requests that return to `requesting` once the checks of their resources
                                              have ended */
    bool may_remove, removes; /* may_remove: removals are allowed; removes: removals have begun, after the earlier
                                 requests had requested all resources */
    sd_event_source *turn;
};

static inline uint64_t nm_localizer_end_of_turn(void)
{
    return nm_now_usec() + NM_LOCALIZER_PIECE_USEC;
}

/* Schedules the effects of a change for a later turn of the event loop. */
static inline int nm_localizer_begin_turn(struct nm_localizer *l)
{
    return nm_loop_schedule_work(l->turn);
}

struct nm_cache_key nm_localizer_key(const struct nm_localizer_user *user, const struct nm_localizer_resource *res);

/* nm_localizer_request_fail() ends the request with a result of localizer-request.h. nm_localizer_request_settle() ends
 * the request if it has all its resources. The listener is called in a later turn of the event loop. */
void nm_localizer_request_fail(struct nm_localizer_request *request, int result, const char *message);
void nm_localizer_request_settle(struct nm_localizer_request *request);

/* Sets is_leaving, removes the entry from the index immediately, and marks its file as incomplete. The next nmd must
 * use the resource that is fetched again instead of this entry. */
void nm_localizer_invalidate(struct nm_localizer *l, uint64_t id);

/* Checks the request's next n resources, once. Returns false if workers check some of them. The request is then in the
 * list `checking` until these workers have ended. */
bool nm_localizer_check_piece(struct nm_localizer_request *request, size_t n);
/* Ends the request's wait for checks, and moves the request from the list `checking` back to `requesting`. */
void nm_localizer_end_checking(struct nm_localizer_request *request);
void nm_localizer_on_checked(uint64_t id, const char *user, bool is_whole, void *userdata);
void nm_localizer_free_checks(const struct nm_cache_entry *e);

/* Each function does a piece of the pending work, for one turn of the event loop. Returns whether more work may be
 * left. */
bool nm_localizer_request_some(struct nm_localizer *l);
bool nm_localizer_release_some(struct nm_localizer *l);
