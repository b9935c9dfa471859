/* SPDX-License-Identifier: Apache-2.0 */

/* See caches.h. */

#include "rpc/yarn/launch/caches.h"

#include <stdlib.h>

#include "rpc/yarn/launch/claim.h"

/* ---- making a directory nmd's ------------------------------------------------------------- */

static int adopt(struct nm_yarn_caches *c, size_t i)
{
    const struct nm_yarn_dir *d = &c->dirs->all[i];
    struct nm_localizer_params p = c->params;
    _cleanup_free_ char *state = NULL;
    int r = nm_yarn_claim(c->state_dir, d, &state);

    if (r < 0)
        return r;
    p.local_dir = d->name;
    p.state_dir = state;
    r = nm_localizer_new(&p, &c->all[i]);
    if (r >= 0 && c->tidies)
        nm_localizer_begin_to_tidy(c->all[i]);
    return r;
}

/* A read-only disk may refuse it although its directory could be opened. It is good once it could be made nmd's. */
static int adopt_or_say(struct nm_yarn_caches *c, size_t i)
{
    struct nm_yarn_dir *d = &c->dirs->all[i];
    int r = c->all[i] ? 0 : adopt(c, i);

    if (r < 0 && d->is_good) {
        d->is_good = false;
        (void)snprintf(d->why, sizeof d->why, "it can't be taken over: %s", strerror(-r));
    }
    return r;
}

/* ---- which one ---------------------------------------------------------------------------- */

static bool is_good(const struct nm_yarn_caches *c, size_t i)
{
    return c->all[i] && c->dirs->all[i].is_good;
}

/* The first good one, but not while the one that was chosen is good: each change has resources fetched again. */
static void choose(struct nm_yarn_caches *c)
{
    struct nm_localizer *good = NULL;

    for (size_t i = 0; i < c->dirs->n; i++) {
        if (is_good(c, i) && c->all[i] == c->now)
            return;
        if (is_good(c, i) && !good)
            good = c->all[i];
    }
    if (!good)
        return;
    c->now = good;
    for (size_t i = 0; i < c->dirs->n; i++)
        if (c->all[i])
            nm_localizer_set_room(c->all[i], c->all[i] == good ? c->params.cache_max_bytes : 0);
}

void nm_yarn_caches_check(struct nm_yarn_caches *c)
{
    nm_yarn_dirs_check(c->dirs);
    for (size_t i = 0; i < c->dirs->n; i++)
        if (c->dirs->all[i].is_good)
            (void)adopt_or_say(c, i);
    choose(c);
}

struct nm_localizer *nm_yarn_caches_choose(const struct nm_yarn_caches *c, const struct nm_localizer_user *user,
                                           const struct nm_localizer_resource *resources, size_t n, bool is_running)
{
    struct nm_localizer *best = c->now;
    size_t most = best && is_running ? nm_localizer_count_known(best, user, resources, n) : 0;

    for (size_t i = 0; is_running && i < c->dirs->n; i++) {
        size_t known = c->all[i] ? nm_localizer_count_known(c->all[i], user, resources, n) : 0;

        if (c->all[i] && (!best || known > most)) {
            best = c->all[i];
            most = known;
        }
    }
    return best;
}

bool nm_yarn_caches_is_good(const struct nm_yarn_caches *c, const struct nm_localizer *l)
{
    for (size_t i = 0; l && i < c->dirs->n; i++)
        if (c->all[i] == l)
            return is_good(c, i);
    return false;
}

const char *nm_yarn_caches_dir(const struct nm_yarn_caches *c)
{
    for (size_t i = 0; i < c->dirs->n; i++)
        if (c->now && c->all[i] == c->now)
            return c->dirs->all[i].name;
    return "";
}

struct nm_localizer *nm_yarn_caches_any(const struct nm_yarn_caches *c)
{
    struct nm_localizer *any = NULL;

    for (size_t i = 0; !any && i < c->dirs->n; i++)
        any = c->all[i];
    return any;
}

/* ---- all of them -------------------------------------------------------------------------- */

int nm_yarn_caches_open(struct nm_yarn_caches *c, const struct nm_localizer_params *params, const char *state_dir,
                        struct nm_yarn_dirs *dirs, char **ret_message)
{
    const char *name = "";
    int r, first = 0;

    *c = (struct nm_yarn_caches){.params = *params, .state_dir = state_dir, .dirs = dirs};
    c->all = calloc(dirs->n + 1, sizeof(struct nm_localizer *));
    if (!c->all)
        return -ENOMEM;
    for (size_t i = 0; i < dirs->n; i++) {
        r = dirs->all[i].fd < 0 ? 0 : adopt_or_say(c, i);
        if (r == -ENOMEM)
            return r;
        if (r < 0 && first == 0) {
            first = r;
            name = dirs->all[i].name;
        }
    }
    if (!nm_yarn_caches_any(c))
        return nm_fail(ret_message, first, "Resources can't be fetched to %s by %s: %s", name, params->program,
                       strerror(-first));
    choose(c);
    nm_yarn_claim_sweep(nm_yarn_caches_any(c), dirs);
    return 0;
}

void nm_yarn_caches_done(struct nm_yarn_caches *c)
{
    for (size_t i = 0; c->all && i < c->dirs->n; i++)
        (void)nm_localizer_free(c->all[i]);
    free(c->all);
    *c = (struct nm_yarn_caches){};
}

void nm_yarn_caches_tidy(struct nm_yarn_caches *c)
{
    c->tidies = true;
    for (size_t i = 0; i < c->dirs->n; i++)
        if (c->all[i])
            nm_localizer_begin_to_tidy(c->all[i]);
}

void nm_yarn_caches_end_application(struct nm_yarn_caches *c, const char *submitter, const char *application)
{
    for (size_t i = 0; i < c->dirs->n; i++)
        if (c->all[i])
            nm_localizer_end_application(c->all[i], submitter, application);
}
