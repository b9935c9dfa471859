/* SPDX-License-Identifier: Apache-2.0 */

/* See local-groups.h. */

#include "yarn/node/local-groups.h"

#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "util/macros.h"

#define LINES_MAX 20000u    /* lines that are read of a file */
#define GROUPS_BYTES 16384u /* size of the groups of one account; further groups are left out */

static bool print_path(const char *etc, const char *name, char path[static 256])
{
    return snprintf(path, 256, "%s/%s", etc, name) < 256;
}

static FILE *open_in(const char *etc, const char *name)
{
    char path[256];

    return print_path(etc, name, path) ? fopen(path, "re") : NULL;
}

/* ---- files -------------------------------------------------------------------------------- */

/* Finds the primary group of an account. */
static bool find_gid(const char *user, const char *etc, gid_t *ret)
{
    FILE *f = open_in(etc, "passwd");
    const struct passwd *pw = NULL;
    bool found = false;

    for (unsigned n = 0; f && !found && n < LINES_MAX && (pw = fgetpwent(f)); n++)
        found = nm_streq(pw->pw_name, user);
    if (found)
        *ret = pw->pw_gid;
    if (f)
        (void)fclose(f);
    return found;
}

static bool is_member(const struct group *g, const char *user)
{
    for (char *const *m = g->gr_mem; *m; m++)
        if (nm_streq(*m, user))
            return true;
    return false;
}

static void print_groups(const char *user, const char *etc, char buf[static GROUPS_BYTES])
{
    const struct group *g;
    gid_t gid = 0;
    const bool has_gid = find_gid(user, etc, &gid);
    FILE *f = open_in(etc, "group");
    size_t size = 0;

    *buf = '\0';
    for (unsigned n = 0; f && n < LINES_MAX && (g = fgetgrent(f)); n++) {
        const size_t length = strlen(g->gr_name);

        if (size + length + 2 > GROUPS_BYTES || !((has_gid && g->gr_gid == gid) || is_member(g, user)))
            continue;
        size += (size_t)snprintf(buf + size, GROUPS_BYTES - size, "%s%s", size > 0 ? "," : "", g->gr_name);
    }
    if (f)
        (void)fclose(f);
}

/* ---- memory ------------------------------------------------------------------------------- */

/* Updates a stamp. Returns whether the file has changed. */
static bool has_changed(struct nm_yarn_file_stamp *stamp, const char *etc, const char *name)
{
    struct nm_yarn_file_stamp now = {};
    char path[256];
    struct stat st;
    bool result;

    if (print_path(etc, name, path) && stat(path, &st) == 0)
        now = (struct nm_yarn_file_stamp){st.st_dev, st.st_ino, st.st_size, st.st_mtim, st.st_ctim};
    result = memcmp(&now, stamp, sizeof now) != 0;
    *stamp = now;
    return result;
}

static void forget(struct nm_yarn_local_groups *g, unsigned i)
{
    free(STEAL_PTR(g->all[i].user));
    free(STEAL_PTR(g->all[i].groups));
}

void nm_yarn_local_groups_done(struct nm_yarn_local_groups *g)
{
    for (unsigned i = 0; i < NM_YARN_LOCAL_GROUPS_MAX; i++)
        forget(g, i);
}

static const char *read_groups(struct nm_yarn_local_groups *g, const char *user, const char *etc)
{
    const unsigned i = g->next;
    char buf[GROUPS_BYTES];

    forget(g, i);
    print_groups(user, etc, buf);
    g->n_reads++;
    g->all[i].user = strdup(user);
    g->all[i].groups = strdup(buf);
    if (!g->all[i].user || !g->all[i].groups) {
        forget(g, i);
        return "";
    }
    g->next = (i + 1) % NM_YARN_LOCAL_GROUPS_MAX;
    return g->all[i].groups;
}

const char *nm_yarn_local_groups_find(struct nm_yarn_local_groups *g, const char *user, const char *etc)
{
    /* both stamps must be updated */
    const bool passwd_changed = has_changed(&g->passwd, etc, "passwd");

    if (has_changed(&g->group, etc, "group") || passwd_changed)
        nm_yarn_local_groups_done(g);
    for (unsigned i = 0; i < NM_YARN_LOCAL_GROUPS_MAX; i++)
        if (g->all[i].user && nm_streq(g->all[i].user, user))
            return g->all[i].groups;
    return read_groups(g, user, etc);
}
