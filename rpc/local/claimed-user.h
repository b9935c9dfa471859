/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The user whom a request to Hadoop's web services names, as with Hadoop's "simple" authentication: the query parameter
 * user.name, or the cookie hadoop.auth, which a client gets for its user.name. The name is not verified, so
 * nmd's cookie has no signature. Hadoop's clients send OPTIONS with user.name first, and requests with the cookie
 * afterwards.
 */

#include <stdbool.h>
#include <stddef.h>

#define NM_CLAIMED_USER_SIZE 80
#define NM_CLAIMED_USER_COOKIE_SIZE (2 * NM_CLAIMED_USER_SIZE + 80)

/* Finds the user. cookie: the value of the header Cookie; query: the value of user.name. Both may be NULL. As with
 * Hadoop, the cookie is used first. Returns false if there is no name, or only one that is too long. */
bool nm_claimed_user_find(const char *cookie, const char *query, char buf[static NM_CLAIMED_USER_SIZE]);

/* Formats the value of Set-Cookie. Returns false if the name isn't a valid name of a user. */
bool nm_claimed_user_cookie(const char *user, char buf[static NM_CLAIMED_USER_COOKIE_SIZE]);
