/* SPDX-License-Identifier: Apache-2.0 */

/* See acl.h. */

#include "yarn/node/acl.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "util/macros.h"

#define WHITE " \t\r\n\f"
#define ACCOUNTS_MAX 20000u /* lines that are read of a file, because reading blocks the event loop */

/* Returns whether a list of words, separated by commas and white space, has the word. */
static bool has_word(const char *list, size_t size, const char *word)
{
    const size_t n = strlen(word);

    for (const char *p = list, *end = list + size; p < end;) {
        size_t skip = strspn(p, "," WHITE), k = strcspn(p + skip, "," WHITE);

        p += skip;
        if (p + k <= end && k == n && n > 0 && memcmp(p, word, n) == 0)
            return true;
        p += k;
    }
    return false;
}

bool nm_yarn_acl_has_user(const char *acl, const char *user)
{
    const char *first = acl ? acl + strspn(acl, WHITE) : "";

    if (*first == '*' && first[1 + strspn(first + 1, WHITE)] == '\0')
        return true;
    return acl && has_word(acl, strcspn(acl, " "), user);
}

static FILE *open_in(const char *etc, const char *name)
{
    char path[256];

    return snprintf(path, sizeof path, "%s/%s", etc, name) < (int)sizeof path ? fopen(path, "re") : NULL;
}

/* Finds the primary group of an account. */
static bool find_gid(const char *user, const char *etc, gid_t *ret)
{
    FILE *f = open_in(etc, "passwd");
    const struct passwd *pw = NULL;
    bool found = false;

    for (unsigned n = 0; f && !found && n < ACCOUNTS_MAX && (pw = fgetpwent(f)); n++)
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

bool nm_yarn_acl_has_local_group(const char *acl, const char *user, const char *etc)
{
    const char *groups = acl ? strchr(acl, ' ') : NULL;
    const struct group *g;
    bool found = false, has_gid;
    gid_t gid = 0;
    FILE *f;

    if (!groups || groups[strspn(groups, "," WHITE)] == '\0')
        return false;
    has_gid = find_gid(user, etc, &gid);
    f = open_in(etc, "group");
    for (unsigned n = 0; f && !found && n < ACCOUNTS_MAX && (g = fgetgrent(f)); n++)
        found = has_word(groups, strlen(groups), g->gr_name) && ((has_gid && g->gr_gid == gid) || is_member(g, user));
    if (f)
        (void)fclose(f);
    return found;
}
