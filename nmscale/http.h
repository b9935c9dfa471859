/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Minimal GET over HTTP or HTTPS, from the given address only. Redirects aren't followed, proxies and .netrc aren't
 * used, answers have a size limit, and each request has a time limit.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/macros.h"

struct nm_scale_http;

/* Makes a client. `stop`: a request is aborted when *stop becomes true; NULL: requests can't be aborted. */
int nm_scale_http_new(uint64_t timeout_usec, const volatile bool *stop, struct nm_scale_http **ret);
struct nm_scale_http *nm_scale_http_free(struct nm_scale_http *h);
NM_DEFINE_CLEANUP(struct nm_scale_http *, nm_scale_http_free)
void nm_scale_http_set_stop(struct nm_scale_http *h, const volatile bool *stop);

/*
 * Returns the body, NUL-terminated and freed by the caller. Otherwise a sentence in *ret_message, and
 *   -ECONNREFUSED, -ETIMEDOUT, -EHOSTUNREACH, -EIO  the server doesn't answer
 *   -ELOOP    a redirect; *ret_location (freed by the caller) is its target, or NULL
 *   -EREMOTEIO  an HTTP status other than 200
 *   -E2BIG    the answer is larger than `most`
 *   -ECANCELED  *stop became true
 */
int nm_scale_http_get(struct nm_scale_http *h, const char *url, size_t most, char **ret_body, size_t *ret_size,
                      char **ret_location, char **ret_message);
