/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The resources on this host and their users: a model without I/O and without a clock. The first request for a resource
 * makes an entry and starts a fetch. Further requests wait for the same fetch. Unused resources are kept until the
 * cache is full; then the least recently used resource is removed first. The key identifies an entry, so a source that
 * has changed gets another entry.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/macros.h"

#define NM_CACHE_FIRST_ID 10 /* the first id of Hadoop, so that directories have the names that users of Hadoop know */
/* Maximum number of entries. If the cache has more entries, unused entries are removed even if their bytes would fit,
 * because even an empty file needs two directories, a file of nmd, and memory. */
#define NM_CACHE_ENTRIES_MAX 65536U

enum nm_visibility {
    NM_VISIBILITY_PUBLIC,      /* shared by all users of this host */
    NM_VISIBILITY_PRIVATE,     /* shared by the user's containers */
    NM_VISIBILITY_APPLICATION, /* shared by the containers of one application, and removed with the application */
};

struct nm_cache_key {
    enum nm_visibility visibility;
    const char *user;        /* "" for PUBLIC */
    const char *application; /* "" for all but APPLICATION */
    const char *uri;
    unsigned type;
    uint64_t timestamp_msec;
    const char *pattern; /* "" if the resource has no pattern */
};

enum nm_cache_state {
    NM_CACHE_FETCHING,
    NM_CACHE_READY,
    NM_CACHE_LEAVING, /* the entry is being removed: lookups don't find the entry, but its bytes still count */
};

/* The state of an entry's file, which the caller sets with nm_cache_note(). */
enum nm_cache_noted {
    NM_CACHE_NOT_NOTED, /* no worker was ever started for the entry, so it has no file */
    NM_CACHE_NOTED_PART,
    NM_CACHE_NOTED_WHOLE,
};

struct nm_cache_entry {
    uint64_t id;             /* never reused */
    struct nm_cache_key key; /* the key's strings belong to the entry */
    enum nm_cache_state state;
    uint64_t bytes; /* size of the resource; 0 while the resource is fetched */
    uint64_t used_usec;
    unsigned users; /* number of requests that haven't released the entry */
    bool is_leaving; /* lookups don't find the entry, and it is removed when it has no users */
    enum nm_cache_noted noted;
    bool is_listed;        /* a list of the resource's contents exists beside the resource (install.h) */
    /* Time of the last check that found the resource complete; 0: restored and not checked since then. */
    uint64_t checked_usec;
    void *fetch;  /* data of nm_cache_attach(), owned by the caller */
    void *checks; /* data of nm_cache_attach_checks(), owned by the caller */
};

enum {
    NM_CACHE_E_READY = 1, /* the resource is available */
    NM_CACHE_E_FETCHING,  /* the resource is being fetched for an earlier request */
    NM_CACHE_E_NEW,       /* the caller has to fetch the resource */
};

struct nm_cache;

struct nm_cache *nm_cache_new(uint64_t most_bytes); /* NULL: no memory */
struct nm_cache *nm_cache_free(struct nm_cache *c);
NM_DEFINE_CLEANUP(struct nm_cache *, nm_cache_free)

/* Requests the resource. Returns NM_CACHE_E_* or -ENOMEM. The entry *ret_id is in use until nm_cache_release(). The
 * next call may move the entry in memory; the id of the entry doesn't change. */
int nm_cache_request(struct nm_cache *c, const struct nm_cache_key *key, uint64_t now_usec, uint64_t *ret_id);
void nm_cache_release(struct nm_cache *c, uint64_t id, uint64_t now_usec);
/* Stores the caller's data about a fetch in the entry. The caller must reset the data to NULL before the entry is
 * removed. */
void nm_cache_attach(struct nm_cache *c, uint64_t id, void *fetch);
void nm_cache_attach_checks(struct nm_cache *c, uint64_t id, void *checks);
void nm_cache_note(struct nm_cache *c, uint64_t id, enum nm_cache_noted noted);
void nm_cache_listed(struct nm_cache *c, uint64_t id);
void nm_cache_checked(struct nm_cache *c, uint64_t id, uint64_t now_usec);

/* Reports the result of the fetch. After a failure, the next request fetches the resource again. The users of the
 * failed entry must still release it. */
void nm_cache_fetched(struct nm_cache *c, uint64_t id, uint64_t bytes);
void nm_cache_failed(struct nm_cache *c, uint64_t id);

/* Sets is_leaving, because the entry's files are unusable or will never be complete. The next request fetches the
 * resource again. The entry is removed when its last user has released it. */
void nm_cache_invalidate(struct nm_cache *c, uint64_t id);

/* Ends the application: its entries of visibility APPLICATION are removed when they are unused. */
void nm_cache_end_application(struct nm_cache *c, const char *user, const char *application);

/*
 * Returns the next entry to remove: an entry with is_leaving and without users, or, if the cache has too many bytes or
 * entries, the least recently used entry without users. Returns NULL if no entry has to be removed, or if all remaining
 * entries are in use. The state of the entry is LEAVING until its files are removed and nm_cache_removed() is called.
 */
const struct nm_cache_entry *nm_cache_next_to_evict(struct nm_cache *c);
void nm_cache_removed(struct nm_cache *c, uint64_t id);

/* Restores an entry of an earlier run, without users. Its state becomes READY. Lookups don't find an entry with
 * is_leaving, and it is removed later. Returns -EEXIST if the id already exists, or if is_leaving is false and a usable
 * entry has the same key. Returns -ENOMEM if memory ran out. */
int nm_cache_restore(struct nm_cache *c, const struct nm_cache_entry *entry);
/* Reserves the ids up to this id: new entries get higher ids. */
void nm_cache_reserve(struct nm_cache *c, uint64_t id);

const struct nm_cache_entry *nm_cache_find(const struct nm_cache *c, uint64_t id); /* NULL: no entry has this id */
const struct nm_cache_entry *nm_cache_at(const struct nm_cache *c, size_t i);      /* NULL: i is too large */
/* Returns the entry that nm_cache_request() would find. NULL: nm_cache_request() would make a new entry. */
const struct nm_cache_entry *nm_cache_look_up(const struct nm_cache *c, const struct nm_cache_key *key);
bool nm_cache_has(const struct nm_cache *c, const struct nm_cache_key *key);

/* Stores the ids of the fetched entries with this key, at most `room` of them, and returns how many there are. Includes
 * the entries with is_leaving, which lookups don't find. Leaves out entries that are being removed. */
size_t nm_cache_list(const struct nm_cache *c, const struct nm_cache_key *key, uint64_t *ids, size_t room);
/* Adds a user to an entry that nm_cache_list() has listed. The entry is in use until nm_cache_release(). */
void nm_cache_use(struct nm_cache *c, uint64_t id);

void nm_cache_set_room(struct nm_cache *c, uint64_t most_bytes);
uint64_t nm_cache_bytes(const struct nm_cache *c);
