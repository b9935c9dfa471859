/* SPDX-License-Identifier: Apache-2.0 */

/* See descriptor-report.h. Differs from Hadoop's NodeManager in one point: a set that got no answer is sent again with
 * the next heartbeat, and not only after the resync interval. */

#include "yarn/labels/descriptor-report.h"

#include "rpc/hadoop/exception.h"
#include "util/utf8.h"

#define PREFIX "nm.yarn.io" /* of attributes that nodes report; the ResourceManager refuses another one */
#define TYPE_STRING 1

void nm_yarn_descriptor_report_done(struct nm_yarn_descriptor_report *r)
{
    nm_yarn_descriptors_done(&r->sent);
}

static bool is_due(const struct nm_yarn_descriptor_report *r, const struct nm_yarn_descriptors *current,
                   uint64_t now_usec)
{
    return !r->answered || !nm_yarn_descriptors_equal(&r->sent, current) || now_usec - r->sent_usec > r->resync_usec;
}

int nm_yarn_descriptor_report_choose(struct nm_yarn_descriptor_report *r, const struct nm_yarn_descriptors *current,
                                     bool registers, uint64_t now_usec)
{
    struct nm_yarn_descriptors copy;

    r->in_request = false;
    if (!current || (!registers && !is_due(r, current, now_usec)))
        return 0;
    if (nm_yarn_descriptors_copy(current, &copy) < 0)
        return -ENOMEM;
    r->is_other |= !nm_yarn_descriptors_equal(&r->sent, &copy);
    nm_yarn_descriptors_done(&r->sent);
    r->sent = copy;
    r->sent_usec = now_usec;
    r->in_request = true;
    r->answered = false;
    return 1;
}

bool nm_yarn_descriptor_report_answer(struct nm_yarn_descriptor_report *r, bool repeats, bool accepted,
                                      const char *diagnostics)
{
    const enum nm_yarn_descriptor_state before = r->state;
    char why[sizeof r->why] = "";
    struct nm_exception clean;
    bool has_changed;

    if (!r->in_request || repeats)
        return false;
    r->in_request = false;
    r->answered = true;
    nm_exception_receive(&clean, 0, NULL, accepted ? "" : diagnostics ?: "");
    (void)snprintf(why, sizeof why, "%.*s", (int)sizeof why - 1, clean.message);
    why[nm_utf8_prefix(why)] = '\0'; /* a character may have been cut */
    r->state = accepted ? NM_YARN_DESCRIPTORS_ACCEPTED : NM_YARN_DESCRIPTORS_REFUSED;
    has_changed = r->is_other || r->state != before || !nm_streq(r->why, why);
    r->is_other = false;
    memcpy(r->why, why, sizeof why);
    return has_changed;
}

/* ---- messages ----------------------------------------------------------------------------- */

Yarn__NodeLabels *nm_yarn_descriptor_report_labels(const struct nm_yarn_descriptors *d, struct nm_arena *arena)
{
    Yarn__NodeLabels *m = nm_arena_alloc(arena, sizeof *m);
    Yarn__NodeLabel **list = nm_arena_alloc(arena, (d->n + 1) * sizeof *list);
    Yarn__NodeLabel *all = nm_arena_alloc(arena, (d->n + 1) * sizeof *all);

    if (!m || !list || !all)
        return NULL;
    for (size_t i = 0; i < d->n; i++) {
        all[i] = (Yarn__NodeLabel)YARN__NODE_LABEL__INIT;
        all[i].name = d->items[i].name;
        list[i] = &all[i];
    }
    *m = (Yarn__NodeLabels)YARN__NODE_LABELS__INIT;
    m->n_labels = d->n;
    m->labels = list;
    return m;
}

Yarn__NodeAttributes *nm_yarn_descriptor_report_attributes(const struct nm_yarn_descriptors *d, struct nm_arena *arena)
{
    Yarn__NodeAttributes *m = nm_arena_alloc(arena, sizeof *m);
    Yarn__Attribute **list = nm_arena_alloc(arena, (d->n + 1) * sizeof *list);
    Yarn__Attribute *all = nm_arena_alloc(arena, (d->n + 1) * sizeof *all);
    Yarn__AttributeKey *keys = nm_arena_alloc(arena, (d->n + 1) * sizeof *keys);

    if (!m || !list || !all || !keys)
        return NULL;
    for (size_t i = 0; i < d->n; i++) {
        keys[i] = (Yarn__AttributeKey)YARN__ATTRIBUTE_KEY__INIT;
        keys[i].prefix = (char *)PREFIX;
        keys[i].name = d->items[i].name;
        all[i] = (Yarn__Attribute)YARN__ATTRIBUTE__INIT;
        all[i].key = &keys[i];
        all[i].has_type = 1;
        all[i].type = TYPE_STRING;
        all[i].value = d->items[i].value;
        list[i] = &all[i];
    }
    *m = (Yarn__NodeAttributes)YARN__NODE_ATTRIBUTES__INIT;
    m->n_attributes = d->n;
    m->attributes = list;
    return m;
}
