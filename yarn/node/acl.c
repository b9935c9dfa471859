/* SPDX-License-Identifier: Apache-2.0 */

/* See acl.h. */

#include "yarn/node/acl.h"

#include <string.h>

#define WHITE " \t\r\n\f"

/* Returns whether a list of words, separated by commas and white space, has the word of n bytes. */
static bool has_word(const char *list, size_t size, const char *word, size_t n)
{
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
    return acl && has_word(acl, strcspn(acl, " "), user, strlen(user));
}

bool nm_yarn_acl_has_groups(const char *acl)
{
    const char *groups = acl ? strchr(acl, ' ') : NULL;

    return groups && groups[strspn(groups, "," WHITE)] != '\0';
}

bool nm_yarn_acl_has_group_of(const char *acl, const char *groups)
{
    const char *wanted = acl ? strchr(acl, ' ') : NULL;

    for (const char *p = groups; wanted && *p; p += strcspn(p, ","), p += *p == ',')
        if (has_word(wanted, strlen(wanted), p, strcspn(p, ",")))
            return true;
    return false;
}
