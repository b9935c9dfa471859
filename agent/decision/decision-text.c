/* SPDX-License-Identifier: Apache-2.0 */

/* Text that is built piece by piece in a fixed buffer: the building blocks of sentences on decisions. */

#include "agent/decision/decision-internal.h"

#include <assert.h>

/* Text that doesn't fit is cut, so that an explanation is always returned, even if it is incomplete. */
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

/* Writes 0.5 and 2, not 0.50 and 2.00, because figures in sentences are not aligned. */
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

static double vcores(const struct nm_decision *d, uint64_t millicores)
{
    double whole = (double)d->capacity.cpu_millicores;

    if (d->capacity_vcores_milli == 0 || whole <= 0)
        return (double)millicores / 1000;
    return (double)millicores / whole * d->capacity_vcores_milli / 1000;
}

void nm_text_add_asked(struct nm_text *t, const struct nm_decision *d, enum nm_resource which, uint64_t amount)
{
    double v = vcores(d, amount);

    if (which == NM_MEMORY) {
        nm_text_add_amount(t, which, amount);
        return;
    }
    nm_text_add_decimal(t, v, 2);
    nm_text_add(t, v > 0.995 && v < 1.005 ? " vcore" : " vcores");
}

void nm_text_add_vcores_exactly(struct nm_text *t, const struct nm_decision *d, uint64_t millicores)
{
    nm_text_add_decimal(t, vcores(d, millicores), 3);
    nm_text_add(t, " vcores");
}

void nm_text_add_vcores_down(struct nm_text *t, const struct nm_decision *d, uint64_t millicores)
{
    double v = (double)(uint64_t)(vcores(d, millicores) * 100 + 1e-6) / 100;

    nm_text_add(t, "up to ");
    nm_text_add_decimal(t, v, 2);
    nm_text_add(t, " vcore%s fit%s", v == 1 ? "" : "s", v == 1 ? "s" : "");
}

void nm_text_add_asked_of_capacity(struct nm_text *t, const struct nm_decision *d, enum nm_resource which,
                                   uint64_t amount)
{
    if (which == NM_CPU)
        nm_text_add_decimal(t, vcores(d, amount), 2);
    else
        nm_text_add_amount(t, which, amount);
    nm_text_add(t, " of ");
    nm_text_add_asked(t, d, which, nm_resources_get(&d->capacity, which));
}

bool nm_text_shows(enum nm_resource which, uint64_t amount)
{
    return amount >= (which == NM_CPU ? 5 : 1);
}

/* Uses the same words for the three parts everywhere. A reader must be able to tell measured use from reservations. */
bool nm_text_add_parts(struct nm_text *t, const struct nm_decision *d, enum nm_resource which, bool all)
{
    const struct {
        uint64_t amount;
        const char *what;
    } parts[] = {
        {nm_resources_get(&d->measured, which), "used by containers"},
        {nm_resources_get(&d->reserved, which), "reserved while they warm up"},
        {nm_resources_get(&d->others, which), "used by others on the node"},
    };
    bool any = false;

    if (!nm_text_shows(which, parts[0].amount) && !nm_text_shows(which, parts[1].amount) &&
        !nm_text_shows(which, parts[2].amount))
        return false;
    for (size_t i = 0; i < NM_ARRAY_SIZE(parts); i++) {
        if (!nm_text_shows(which, parts[i].amount) && !all)
            continue;
        nm_text_add(t, "%s", any ? ", " : "");
        nm_text_add_amount(t, which, parts[i].amount);
        nm_text_add(t, " %s", parts[i].what);
        any = true;
    }
    return true;
}

void nm_text_add_share(struct nm_text *t, const struct nm_decision *d, enum nm_resource which,
                       uint64_t amount)
{
    uint64_t capacity = nm_resources_get(&d->capacity, which);

    nm_text_add_percent(t, capacity > 0 ? (double)amount / (double)capacity : 0);
}

void nm_text_add_over_limit(struct nm_text *t, const struct nm_decision *d, enum nm_resource which, uint64_t amount)
{
    double capacity = (double)NM_MAX(nm_resources_get(&d->capacity, which), UINT64_C(1));
    double limit = nm_fractions_get(&d->preemption_threshold, which);
    char buf[32];

    nm_text_add(t, "%s, over the limit of ", nm_format_percent((double)amount / capacity, limit, buf, sizeof buf));
    nm_text_add_percent(t, limit);
}

void nm_text_add_container(struct nm_text *t, const char *id, const char *name)
{
    assert(id && name);
    /* A refused request never gets an id. */
    if (id[0] == '\0') {
        nm_text_add(t, "%s", name[0] != '\0' ? name : "a request");
        return;
    }
    nm_text_add(t, "%s", id);
    if (name[0] != '\0')
        nm_text_add(t, " (%s)", name);
}
