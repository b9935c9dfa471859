/* SPDX-License-Identifier: Apache-2.0 */

/* Text that is put together piece by piece in a fixed buffer: the pieces that sentences on decisions are made of. */

#include "agent/decision/decision-internal.h"

#include <assert.h>

/* What doesn't fit is cut: a record is explained as far as there is room, and never not at all. */
void nm_text_add(struct nm_text *t, const char *format, ...)
{
    size_t left = t->size - t->used;
    va_list ap;
    int n;

    assert(t->used < t->size);
    va_start(ap, format);
    n = vsnprintf(t->buf + t->used, left, format, ap);
    va_end(ap);
    if (n > 0)
        t->used += NM_MIN((size_t)n, left - 1);
}

/* 0.5 and 2, not 0.50 and 2.00: figures in sentences have no column to stand in. */
void nm_text_add_decimal(struct nm_text *t, double value, int decimals)
{
    char buf[48];
    size_t n;

    assert(decimals >= 0 && decimals < 10);
    (void)snprintf(buf, sizeof(buf), "%.*f", decimals, value);
    n = strlen(buf);
    if (strchr(buf, '.')) {
        while (buf[n - 1] == '0')
            n--;
        if (buf[n - 1] == '.')
            n--;
    }
    nm_text_add(t, "%.*s", (int)n, buf);
}

void nm_text_add_percent(struct nm_text *t, double fraction)
{
    nm_text_add_decimal(t, fraction * 100, 1);
    nm_text_add(t, " %%");
}

void nm_text_add_amount(struct nm_text *t, enum nm_resource which, uint64_t amount)
{
    char buf[32];

    if (which == NM_MEMORY) {
        nm_text_add(t, "%s", nm_format_size(amount, buf, sizeof(buf)));
        return;
    }
    nm_text_add_decimal(t, (double)amount / 1000, 2);
    nm_text_add(t, amount == 1000 ? " core" : " cores");
}

void nm_text_add_share(struct nm_text *t, const struct nm_decision *d, enum nm_resource which,
                       uint64_t amount)
{
    uint64_t capacity = nm_resources_get(&d->capacity, which);

    nm_text_add_percent(t, capacity > 0 ? (double)amount / (double)capacity : 0);
}

void nm_text_add_container(struct nm_text *t, const char *id, const char *name)
{
    assert(id && name);
    /* What is refused never gets an id. */
    if (id[0] == '\0') {
        nm_text_add(t, "%s", name[0] != '\0' ? name : "a request");
        return;
    }
    nm_text_add(t, "%s", id);
    if (name[0] != '\0')
        nm_text_add(t, " (%s)", name);
}
