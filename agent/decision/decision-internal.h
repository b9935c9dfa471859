/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What decision.c is made of: text that is put together piece by piece in a fixed buffer (decision-text.c), and the
 * words for it (decision-words.c). */

#include <stdarg.h>

#include "agent/decision/decision.h"
#include "util/parse.h"

struct nm_text {
    char *buf;
    size_t size, used;
};

/* Appends; what doesn't fit is cut off, and the buffer always ends with a NUL. */
void nm_text_add(struct nm_text *t, const char *format, ...) nm_printf(2, 3);

/* Without the zeros that say nothing: 1.50 is "1.5", 2.00 is "2". */
void nm_text_add_decimal(struct nm_text *t, double value, int decimals);
/* What is used: "512 MiB", "1.25 cores" */
void nm_text_add_amount(struct nm_text *t, enum nm_resource which, uint64_t amount);
/* What is asked for or promised: "512 MiB", "1.25 vcores", which may be more or less than as many CPUs. */
void nm_text_add_asked(struct nm_text *t, const struct nm_decision *d, enum nm_resource which, uint64_t amount);
/* "512 MiB of 8.0 GiB", "1.25 of 4 vcores" */
void nm_text_add_asked_of_capacity(struct nm_text *t, const struct nm_decision *d, enum nm_resource which,
                                   uint64_t amount);
/* Would it be more than 0 where it is written? */
bool nm_text_shows(enum nm_resource which, uint64_t amount);
/* What `used` is made of: "512 MiB used by containers, 1.0 GiB reserved while they warm up". False, and nothing: a
 * record of an older nmd doesn't know. `all`: with what is none. */
bool nm_text_add_parts(struct nm_text *t, const struct nm_decision *d, enum nm_resource which, bool all);
/* "memory at 96 % of capacity" needs the first, "(7.7 GiB of 8 GiB)" the second. */
void nm_text_add_share(struct nm_text *t, const struct nm_decision *d, enum nm_resource which,
                       uint64_t amount);
void nm_text_add_percent(struct nm_text *t, double fraction);
/* "95.04 %, over the limit of 95 %": the share has the decimals that tell it from its limit. */
void nm_text_add_over_limit(struct nm_text *t, const struct nm_decision *d, enum nm_resource which, uint64_t amount);
/* "container_1_000002 (hash)" */
void nm_text_add_container(struct nm_text *t, const char *id, const char *name);

/* The clause after the colon: why, with the numbers. */
void nm_decision_words_why(struct nm_text *t, const struct nm_decision *d);
/* Sentences on what the person whose container it is can do, or nothing. */
void nm_decision_words_advice(struct nm_text *t, const struct nm_decision *d);
/* What an order means, for "in the order ...". */
const char *nm_decision_words_order(enum nm_victim_order o);
