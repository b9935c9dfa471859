/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Which resources are on this host, and who uses them: a model without I/O and without a clock. An entry begins with
 * whoever asks first, who has it fetched; who asks meanwhile waits for the same fetch. What nobody uses stays until
 * there is no room: then what was used least recently goes. An entry is what its key says, so a source that was
 * changed is another.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/macros.h"

#define NM_CACHE_FIRST_ID 10 /* as Hadoop's, whose users know such names */
/* When the cache has more entries than this, those that nobody uses leave, even if there is room for their bytes: an
 * empty file costs two directories, a file of nmd's and memory as well. */
#define NM_CACHE_ENTRIES_MAX 65536U

enum nm_visibility {
    NM_VISIBILITY_PUBLIC,      /* everybody on this host shares it */
    NM_VISIBILITY_PRIVATE,     /* the user's containers do */
    NM_VISIBILITY_APPLICATION, /* those of one application, with which it goes */
};

struct nm_cache_key {
    enum nm_visibility visibility;
    const char *user;        /* "" of PUBLIC */
    const char *application; /* "" of all but APPLICATION */
    const char *uri;
    unsigned type;
    uint64_t timestamp_msec;
    const char *pattern; /* "" where there is none */
};

enum nm_cache_state {
    NM_CACHE_FETCHING,
    NM_CACHE_READY,
    NM_CACHE_LEAVING, /* nobody finds it any more; it still takes its bytes */
};

/* What of an entry outlives the caller, as far as it says (nm_cache_note()). */
enum nm_cache_noted {
    NM_CACHE_NOT_NOTED, /* no worker was ever started for the entry */
    NM_CACHE_NOTED_PART,
    NM_CACHE_NOTED_WHOLE,
};

struct nm_cache_entry {
    uint64_t id;             /* never given to another */
    struct nm_cache_key key; /* strings of the entry's own */
    enum nm_cache_state state;
    uint64_t bytes; /* 0 while it is fetched */
    uint64_t used_usec;
    unsigned users; /* who have asked for it and not released it */
    bool is_leaving; /* nobody finds it, and it leaves when its last user goes */
    enum nm_cache_noted noted;
    bool is_listed;        /* a list of what is in it stands beside it (listing.h) */
    uint64_t checked_usec; /* when it was last seen to be whole; 0: not since it was restored */
    void *fetch;  /* the caller's: nm_cache_attach() */
    void *checks; /* likewise: nm_cache_attach_checks() */
};

enum {
    NM_CACHE_E_READY = 1, /* it is there */
    NM_CACHE_E_FETCHING,  /* somebody has it fetched */
    NM_CACHE_E_NEW,       /* whoever asked has to fetch it */
};

struct nm_cache;

struct nm_cache *nm_cache_new(uint64_t most_bytes); /* NULL: no memory */
struct nm_cache *nm_cache_free(struct nm_cache *c);
NM_DEFINE_CLEANUP(struct nm_cache *, nm_cache_free)

/* Asks for it: NM_CACHE_E_*, and *ret is in use until nm_cache_release(); it may move at the next call, its id
 * doesn't. -ENOMEM. */
int nm_cache_ask(struct nm_cache *c, const struct nm_cache_key *key, uint64_t now_usec, uint64_t *ret_id);
void nm_cache_release(struct nm_cache *c, uint64_t id, uint64_t now_usec);
/* Keeps the caller's own data of a fetch beside the entry. The caller takes it away (NULL) before the entry leaves. */
void nm_cache_attach(struct nm_cache *c, uint64_t id, void *fetch);
void nm_cache_attach_checks(struct nm_cache *c, uint64_t id, void *checks);
void nm_cache_note(struct nm_cache *c, uint64_t id, enum nm_cache_noted noted);
void nm_cache_listed(struct nm_cache *c, uint64_t id);
void nm_cache_checked(struct nm_cache *c, uint64_t id, uint64_t now_usec);

/* How the fetch ended. After a failure who asks next fetches anew; the users of this one still release it. */
void nm_cache_fetched(struct nm_cache *c, uint64_t id, uint64_t bytes);
void nm_cache_failed(struct nm_cache *c, uint64_t id);

/* What is on the disk can't be used any more, or won't come: who asks next fetches anew. It leaves when its last user
 * has released it. */
void nm_cache_doom(struct nm_cache *c, uint64_t id);

/* The application is over: what is its own leaves when nobody uses it. */
void nm_cache_end_application(struct nm_cache *c, const char *user, const char *application);

/*
 * The next that has to leave: it is doomed and unused, or there are more bytes or entries than may be and it is the one
 * of the unused that was used least recently. NULL: none has to, or all that are left are in use. It is LEAVING then,
 * until it is removed and nm_cache_removed() said.
 */
const struct nm_cache_entry *nm_cache_next_to_leave(struct nm_cache *c);
void nm_cache_removed(struct nm_cache *c, uint64_t id);

/* What an earlier run left, unused until somebody asks for it; doomed or ready. -EEXIST: the id or the key is there
 * already. -ENOMEM. */
int nm_cache_restore(struct nm_cache *c, const struct nm_cache_entry *entry);
/* No new entry gets this id, or a smaller one. */
void nm_cache_reserve(struct nm_cache *c, uint64_t id);

const struct nm_cache_entry *nm_cache_find(const struct nm_cache *c, uint64_t id); /* NULL: there is none */
const struct nm_cache_entry *nm_cache_at(const struct nm_cache *c, size_t i);      /* NULL: no more */
/* What nm_cache_ask() would find; NULL: it would make a new one. */
const struct nm_cache_entry *nm_cache_look_up(const struct nm_cache *c, const struct nm_cache_key *key);
bool nm_cache_has(const struct nm_cache *c, const struct nm_cache_key *key);
void nm_cache_set_room(struct nm_cache *c, uint64_t most_bytes);
uint64_t nm_cache_bytes(const struct nm_cache *c);
