/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Accounts that a child of nmd has looked up for a launch (launch-spawn.c), kept for the next launches of the same
 * user. Name services may be slow, so nmd itself never asks them here: a launch whose account is not known looks it up
 * in its own child, as the first launch did.
 *
 * An account is used for ten seconds, and only while the files of the local accounts have not changed. So a change of a
 * local account counts at once, and a change in another name service after ten seconds. The services' own caches (SSSD,
 * nscd) keep accounts longer. A failed look-up is not kept.
 */

#include "agent/launch/launch-internal.h"

#include <assert.h>
#include <sys/stat.h>

#include "util/clock.h"

#define VALID_USEC (10 * NM_USEC_PER_SEC)

struct nm_accounts_stamp nm_accounts_stamp(void)
{
    static const char *const files[NM_ACCOUNTS_N_FILES] = {"/etc/passwd", "/etc/group", "/etc/nsswitch.conf"};
    struct nm_accounts_stamp s = {.begun_usec = nm_now_usec()};
    struct stat st;

    for (size_t i = 0; i < NM_ACCOUNTS_N_FILES; i++)
        if (stat(files[i], &st) == 0)
            s.file[i] = (struct nm_accounts_file){.inode = st.st_ino,
                                                  .size = st.st_size,
                                                  .seconds = st.st_ctim.tv_sec,
                                                  .nanoseconds = st.st_ctim.tv_nsec};
    return s;
}

static void entry_done(struct nm_accounts_entry *e)
{
    free(e->user);
    free(e->account.name);
    free(e->account.home);
    free(e->account.shell);
    free(e->account.groups);
    *e = (struct nm_accounts_entry){0};
}

void nm_accounts_done(struct nm_accounts *a)
{
    for (size_t i = 0; i < NM_ACCOUNTS_MAX; i++)
        entry_done(&a->entries[i]);
}

static bool is_of(const struct nm_accounts_entry *e, const char *user, uid_t uid, gid_t gid)
{
    return e->user && e->uid == uid && e->gid == gid && nm_streq(e->user, user);
}

/* Also false if the clock was set back. */
static bool is_valid(const struct nm_accounts_entry *e, const struct nm_accounts_stamp *now)
{
    return now->begun_usec - e->stamp.begun_usec < VALID_USEC &&
           memcmp(e->stamp.file, now->file, sizeof now->file) == 0;
}

const struct nm_shim_account *nm_accounts_find(const struct nm_accounts *a, const struct nm_command *c,
                                               const struct nm_accounts_stamp *now)
{
    for (size_t i = 0; i < NM_ACCOUNTS_MAX; i++)
        if (is_of(&a->entries[i], c->user, c->uid, c->gid))
            return is_valid(&a->entries[i], now) ? &a->entries[i].account : NULL;
    return NULL;
}

/* Returns the user's entry, or else a free one, or else the oldest. */
static struct nm_accounts_entry *entry_for(struct nm_accounts *a, const char *user, uid_t uid, gid_t gid)
{
    struct nm_accounts_entry *oldest = &a->entries[0];

    for (size_t i = 0; i < NM_ACCOUNTS_MAX; i++)
        if (is_of(&a->entries[i], user, uid, gid))
            return &a->entries[i];
    for (size_t i = 1; i < NM_ACCOUNTS_MAX && oldest->user; i++)
        if (!a->entries[i].user || a->entries[i].stamp.begun_usec < oldest->stamp.begun_usec)
            oldest = &a->entries[i];
    return oldest;
}

static int copy_groups(const struct nm_shim_account *from, struct nm_shim_account *to)
{
    if (from->n_groups == 0)
        return 0;
    to->groups = reallocarray(NULL, from->n_groups, sizeof *to->groups);
    if (!to->groups)
        return -ENOMEM;
    memcpy(to->groups, from->groups, from->n_groups * sizeof *to->groups);
    to->n_groups = from->n_groups;
    return 0;
}

/* An account that can't be kept is looked up again. */
void nm_accounts_put(struct nm_accounts *a, const char *user, const struct nm_shim_spec *spec,
                     const struct nm_accounts_stamp *stamp)
{
    struct nm_accounts_entry e = {.user = strdup(user), .uid = spec->uid, .gid = spec->gid, .stamp = *stamp}, *to;

    assert(spec->account.name && spec->account.home && spec->account.shell);
    if (spec->account.error != 0 || spec->account.n_groups > NM_ACCOUNTS_GROUPS_MAX) {
        entry_done(&e);
        return;
    }
    e.account.name = strdup(spec->account.name);
    e.account.home = strdup(spec->account.home);
    e.account.shell = strdup(spec->account.shell);
    if (!e.user || !e.account.name || !e.account.home || !e.account.shell ||
        copy_groups(&spec->account, &e.account) < 0) {
        entry_done(&e);
        return;
    }
    to = entry_for(a, user, e.uid, e.gid);
    entry_done(to);
    *to = e;
}
