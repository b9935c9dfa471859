/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * GET, and no more than that: over HTTP or HTTPS, to the address that is given and nowhere else. Redirects aren't
 * followed, proxies and .netrc aren't used, answers have a largest size and all of it has a time limit.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/macros.h"

struct nm_scale_http;

/* `stop`: a request is given up when it becomes true; NULL: none. */
int nm_scale_http_new(uint64_t timeout_usec, const volatile bool *stop, struct nm_scale_http **ret);
struct nm_scale_http *nm_scale_http_free(struct nm_scale_http *h);
NM_DEFINE_CLEANUP(struct nm_scale_http *, nm_scale_http_free)
void nm_scale_http_set_stop(struct nm_scale_http *h, const volatile bool *stop);

/*
 * The body, NUL-terminated; the caller frees it. Otherwise a sentence in *ret_message, and
 *   -ECONNREFUSED, -ETIMEDOUT, -EHOSTUNREACH, -EIO  nobody answers there
 *   -ELOOP    it sends us elsewhere; *ret_location (freed by the caller) says where to, or is NULL
 *   -EREMOTEIO  another HTTP status than 200
 *   -E2BIG    the answer is larger than `most`
 *   -ECANCELED  `stop`
 */
int nm_scale_http_get(struct nm_scale_http *h, const char *url, size_t most, char **ret_body, size_t *ret_size,
                      char **ret_location, char **ret_message);
