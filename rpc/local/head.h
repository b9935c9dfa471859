/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The head of an HTTP/1 request as it came, judged before the HTTP library reads it: pure. The library accepts what
 * two readers understand differently (two lengths of a body, a folded header, a NUL that ends a value), and behind a
 * proxy such a difference lets one client's request become part of another's. Such requests are refused here.
 */

#include "util/macros.h"

#include <stddef.h>

enum {
    NM_HEAD_E_PARTIAL = 1, /* nothing is wrong so far, and there is more to come */
    NM_HEAD_E_BAD = 2,
};

struct nm_head {
    const char *host; /* the value of Host, in the bytes that were judged; NULL: there is none */
    size_t host_size;
    const char *why; /* a sentence, if the head is bad */
};

/* 0: the head is whole, and good; or a positive outcome. */
int nm_head_judge(const char *data, size_t size, struct nm_head *ret);
