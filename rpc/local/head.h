/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Checks the head of an HTTP/1 request before libmicrohttpd parses it. Does no I/O. libmicrohttpd accepts heads that
 * two parsers may interpret differently: two lengths of a body, a folded header, a NUL that ends a value. Behind a
 * proxy, such a difference allows request smuggling, so these requests are refused.
 */

#include "util/macros.h"

#include <stddef.h>

enum {
    NM_HEAD_E_PARTIAL = 1, /* no error yet, but incomplete */
    NM_HEAD_E_BAD = 2,
};

struct nm_head {
    const char *host; /* the value of Host, a pointer into the data; NULL: the header is missing */
    size_t host_size;
    const char *why; /* the error as a sentence, if the head is invalid */
};

/* Returns 0 if the head is complete and valid, or a positive outcome. */
int nm_head_check(const char *data, size_t size, struct nm_head *ret);
