/* SPDX-License-Identifier: Apache-2.0 */

/* See claimed-user.h. */

#include "rpc/local/claimed-user.h"

#include <stdio.h>
#include <string.h>

#include "util/parse.h"

#define NAME "hadoop.auth="

/* Copies the first n bytes. Returns false if they don't fit. */
static bool copy(const char *text, size_t n, char buf[static NM_CLAIMED_USER_SIZE])
{
    if (n == 0 || n >= NM_CLAIMED_USER_SIZE)
        return false;
    memcpy(buf, text, n);
    buf[n] = '\0';
    return true;
}

/* Finds the user in the cookie's value, such as "u=alice&p=alice&t=simple", with or without quotes. */
static bool find_in_value(const char *value, char buf[static NM_CLAIMED_USER_SIZE])
{
    const char *p = value + (*value == '"'), *end = p + strcspn(p, "\"; ,");

    while (p < end) {
        size_t n = strcspn(p, "&\"; ,");

        if (n > 2 && strncmp(p, "u=", 2) == 0)
            return copy(p + 2, n - 2, buf);
        p += n + (p[n] == '&');
    }
    return false;
}

static bool find_in_cookies(const char *cookies, char buf[static NM_CLAIMED_USER_SIZE])
{
    for (const char *p = cookies; *p; p += strcspn(p, ";"), p += *p == ';') {
        p += strspn(p, " \t");
        if (strncmp(p, NAME, strlen(NAME)) == 0)
            return find_in_value(p + strlen(NAME), buf);
    }
    return false;
}

bool nm_claimed_user_find(const char *cookie, const char *query, char buf[static NM_CLAIMED_USER_SIZE])
{
    return (cookie && find_in_cookies(cookie, buf)) || (query && copy(query, strlen(query), buf));
}

bool nm_claimed_user_cookie(const char *user, char buf[static NM_CLAIMED_USER_COOKIE_SIZE])
{
    if (strlen(user) >= NM_CLAIMED_USER_SIZE || !nm_user_name_is_valid(user))
        return false;
    (void)snprintf(buf, NM_CLAIMED_USER_COOKIE_SIZE, NAME "\"u=%s&p=%s&t=simple\"; Path=/; HttpOnly", user, user);
    return true;
}
