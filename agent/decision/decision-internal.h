/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Shared by the files of decision.c: text that is built piece by piece in a fixed buffer (decision-text.c) and the
 * wording (decision-phrases.c). */

#include <stdarg.h>

#include "agent/decision/decision.h"
#include "util/parse.h"

struct nm_text {
    char *buf;
    size_t size, used;
};

/* Appends formatted text. Text that does not fit is cut off; the buffer always ends with a NUL. */
void nm_text_add(struct nm_text *t, const char *format, ...) nm_printf(2, 3);

/* Appends a number without trailing zeros: 1.50 is "1.5", 2.00 is "2". */
void nm_text_add_decimal(struct nm_text *t, double value, int decimals);
/* Appends an amount in use: "512 MiB", "1.25 cores". */
void nm_text_add_amount(struct nm_text *t, enum nm_resource which, uint64_t amount);
/* Appends a requested or promised amount: "512 MiB", "1.25 vcores". A vcore may be more or less than one CPU. */
void nm_text_add_asked(struct nm_text *t, const struct nm_decision *d, enum nm_resource which, uint64_t amount);
/* Appends the amount with three decimals: "2.001 vcores". */
void nm_text_add_vcores_exactly(struct nm_text *t, const struct nm_decision *d, uint64_t millicores);
/* Appends "up to 1.89 vcores fit", rounded down. */
void nm_text_add_vcores_down(struct nm_text *t, const struct nm_decision *d, uint64_t millicores);
/* Appends a requested amount and the capacity: "512 MiB of 8.0 GiB", "1.25 of 4 vcores". */
void nm_text_add_asked_of_capacity(struct nm_text *t, const struct nm_decision *d, enum nm_resource which,
                                   uint64_t amount);
/* Returns whether the amount, as it is rounded for display, is more than 0. */
bool nm_text_shows(enum nm_resource which, uint64_t amount);
/* Appends the parts of `used`: "512 MiB used by containers, 1.0 GiB reserved while they warm up". Parts of 0 are
 * included only with `all`. Returns false and leaves the text unchanged if the parts are unknown because an older nmd
 * wrote the record. */
bool nm_text_add_parts(struct nm_text *t, const struct nm_decision *d, enum nm_resource which, bool all);
/* Append a percentage, "96 %": nm_text_add_share() for an amount as a part of the capacity, nm_text_add_percent() for a
 * fraction. */
void nm_text_add_share(struct nm_text *t, const struct nm_decision *d, enum nm_resource which,
                       uint64_t amount);
void nm_text_add_percent(struct nm_text *t, double fraction);
/* Appends "95.04 %, over the limit of 95 %". The percentage has enough decimals to differ from its limit. */
void nm_text_add_over_limit(struct nm_text *t, const struct nm_decision *d, enum nm_resource which, uint64_t amount);
/* Appends "container_1_000002 (hash)". */
void nm_text_add_container(struct nm_text *t, const char *id, const char *name);

/* Appends the clause that follows the colon of the summary: the reason with its figures. */
void nm_decision_phrase_why(struct nm_text *t, const struct nm_decision *d);
/* Appends sentences that advise the container's user, if there is any advice for this decision. */
void nm_decision_phrase_advice(struct nm_text *t, const struct nm_decision *d);
/* Returns the description of an order, to follow "in the order ...". */
const char *nm_decision_phrase_order(enum nm_victim_order o);
