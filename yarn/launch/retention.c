/* SPDX-License-Identifier: Apache-2.0 */

/* See retention.h. */

#include "yarn/launch/retention.h"

#include <stdlib.h>

struct nm_yarn_retained_in {
    struct nm_localizer *localizer;
    size_t at; /* index of the next resource */
    struct nm_localizer_retained retained;
};

/* Returns the record of a cache, and adds it if there is none. NULL: no memory. */
static struct nm_yarn_retained_in *record_of(struct nm_yarn_retention *r, struct nm_localizer *l)
{
    struct nm_yarn_retained_in *larger;

    for (size_t i = 0; i < r->n_in; i++)
        if (r->in[i].localizer == l)
            return &r->in[i];
    larger = reallocarray(r->in, r->n_in + 1, sizeof *larger);
    if (!larger)
        return NULL;
    r->in = larger;
    larger[r->n_in] = (struct nm_yarn_retained_in){.localizer = l};
    return &larger[r->n_in++];
}

int nm_yarn_retention_continue(struct nm_yarn_retention *r, const struct nm_yarn_caches *c, size_t piece)
{
    bool is_left = false;

    for (size_t i = 0; i < c->dirs->n; i++) {
        struct nm_yarn_retained_in *in = c->all[i] ? record_of(r, c->all[i]) : NULL;
        const size_t n = in ? NM_MIN(r->n - in->at, piece) : 0;

        if (!c->all[i])
            continue;
        if (!in || nm_localizer_retain(in->localizer, &r->user, r->resources + in->at, n, &in->retained) < 0)
            return -ENOMEM;
        in->at += n;
        is_left |= in->at < r->n;
    }
    return is_left;
}

void nm_yarn_retention_done(struct nm_yarn_retention *r)
{
    for (size_t i = 0; i < r->n_in; i++)
        nm_localizer_retained_done(r->in[i].localizer, &r->in[i].retained);
    free(r->in);
    *r = (struct nm_yarn_retention){};
}
