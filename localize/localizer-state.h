/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the files behind localizer.h share. ask.c has what is asked for; localizer.c has what becomes of it;
 * check.c looks at what there is. */

#include <sys/queue.h>

#include "localize/batches.h"
#include "localize/localizer.h"
#include "util/clock.h"
#include "util/loop.h"

/* How many resources are asked for, or given up, in one turn of the loop: each may cost calls to a file system. */
#define NM_LOCALIZER_PIECE NM_BATCH_MAX
/* And for how long resources are given up or sent to be removed, since file systems may be slow. */
#define NM_LOCALIZER_PIECE_USEC NM_USEC_PER_MSEC

/* Belongs to an entry of the cache for as long as its resource is being fetched (nm_cache_entry.fetch). */
struct nm_localizer_fetch {
    struct nm_batch_places batches;
    LIST_HEAD(, nm_localizer_wait) waits; /* one of each ask, however many names the ask has for the resource */
    uint64_t told_usec;                   /* when its progress was told last */
    bool is_full;                         /* there is no room for it */
};

/* The resources of one ask that one fetch brings; ask NULL: it is in no list. */
struct nm_localizer_wait {
    LIST_ENTRY(nm_localizer_wait) link;
    struct nm_localizer_ask *ask;
    size_t n;
};

/* A resource that an ask doesn't ask for before a worker has looked at it; ask NULL: it is in no list. */
struct nm_localizer_check_wait {
    LIST_ENTRY(nm_localizer_check_wait) link;
    struct nm_localizer_ask *ask;
};

/* What was asked for, and by whom: strings are the ask's own. */
struct nm_localizer_wish {
    struct nm_localizer_user user;
    struct nm_localizer_resource resources[];
};

/* A container that is being made ready. It holds on to its resources until it is freed, which is when the container
 * has ended. */
struct nm_localizer_ask {
    TAILQ_ENTRY(nm_localizer_ask) link, asking_link, end_link;
    struct nm_localizer *localizer;
    struct nm_localizer_listener listener;
    struct nm_localizer_wish *wish; /* NULL: all of it has been asked for */
    uint64_t *ids;
    uint8_t *found; /* NM_CACHE_E_*, as each was when it was asked for */
    struct nm_localizer_wait *waits; /* used in the place of the first resource with that id */
    uint32_t *firsts;                /* that place + 1, by id; 0: a free slot of the table */
    size_t n_firsts;                 /* a power of two */
    struct nm_localizer_check_wait *check_waits; /* one for each resource of a piece; NULL until the first is needed */
    size_t n_looked, n_checks; /* how many it has looked at, or begun to; those that it waits for */
    size_t n, n_asked, n_waiting, n_released;
    uint64_t asked_usec, told_usec; /* told: of progress */
    char *message; /* why it failed */
    int result;
    bool has_failed, has_ended, is_ending, is_checking;
};

TAILQ_HEAD(nm_localizer_asks, nm_localizer_ask);

struct nm_localizer {
    struct nm_localizer_params params;
    struct nm_cache *cache;
    int program_fd, local_fd, state_fd;
    char *local_dir, *boot_id;
    struct nm_batches *batches;
    struct nm_leftovers *leftovers;
    struct nm_localizer_asks asks, releasing; /* releasing: those that were freed, and still hold something */
    struct nm_localizer_asks asking, ending;  /* have more to ask for; are to be told of their end */
    struct nm_localizer_asks checking;        /* have more to ask for, when their checks have ended */
    bool may_tidy, tidies; /* it tidies once all has been asked for that was then */
    sd_event_source *turn;
};

static inline uint64_t nm_localizer_end_of_turn(void)
{
    return nm_now_usec() + NM_LOCALIZER_PIECE_USEC;
}

/* Has all that follows from something be done in a turn of the loop of its own. */
static inline int nm_localizer_begin_turn(struct nm_localizer *l)
{
    return nm_loop_want(l->turn);
}

struct nm_cache_key nm_localizer_key(const struct nm_localizer_user *user, const struct nm_localizer_resource *res);

/* nm_localizer_ask_fail() ends the ask, with a result of ask.h; nm_localizer_ask_settle() does where the
 * ask has all it waited for. The listener hears of that in a later turn. */
void nm_localizer_ask_fail(struct nm_localizer_ask *ask, int result, const char *message);
void nm_localizer_ask_settle(struct nm_localizer_ask *ask);

/* Out of the index at once, and in its file no longer whole: the next nmd must not take it for the one that is fetched
 * in its place. */
void nm_localizer_doom(struct nm_localizer *l, uint64_t id);

/* Looks at the ask's next n resources, once. False: workers do, and the ask is in `checking` until they have. */
bool nm_localizer_check_piece(struct nm_localizer_ask *ask, size_t n);
/* It waits for no check any more, and is in `asking` again if it did. */
void nm_localizer_end_checking(struct nm_localizer_ask *ask);
void nm_localizer_on_checked(uint64_t id, const char *user, bool is_whole, void *userdata);
void nm_localizer_free_checks(const struct nm_cache_entry *e);

/* Each does a piece of what there is to do in a turn, and returns whether there may be more. */
bool nm_localizer_ask_some(struct nm_localizer *l);
bool nm_localizer_release_some(struct nm_localizer *l);
