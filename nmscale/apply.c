/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See apply.h. Every refresh is a graceful one: a plain -refreshNodes would decommission by force whatever is on its
 * way, ours and other people's. Without --force-after it has no time-out in the ResourceManager either, which then
 * waits for containers and for running applications whose data lies there; the time-out is here, and ends in putting
 * back.
 */

#include "nmscale/apply.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <time.h>

#include "nmscale/command.h"
#include "nmscale/exclude.h"
#include "nmscale/file.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/parse.h"

#define RMADMIN_USEC (120 * NM_USEC_PER_SEC)  /* a JVM on a busy host, and Hadoop's own attempts to connect */
#define TAKEN_UP_USEC (60 * NM_USEC_PER_SEC)  /* rmadmin has returned: the state changes within moments */
#define PUT_BACK_USEC (60 * NM_USEC_PER_SEC)
#define TRIES 3

static void progress(const char *format, ...) nm_printf(1, 2);

static void progress(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    fputs("nmscale: ", stderr);
    vfprintf(stderr, format, ap);
    fputs("\n", stderr);
    va_end(ap);
}

void nm_scale_result_done(struct nm_scale_result *r)
{
    for (size_t i = 0; i < r->n; i++) {
        free(r->targets[i].id);
        free(r->targets[i].host);
    }
    free(r->targets);
    free(r->why);
    *r = (struct nm_scale_result){0};
}

const char *nm_scale_fate_name(enum nm_scale_fate fate)
{
    switch (fate) {
    case NM_SCALE_WAITING:
        return "waiting";
    case NM_SCALE_GONE:
        return "decommissioned";
    case NM_SCALE_BACK:
        return "put-back";
    case NM_SCALE_IN_DOUBT:
        return "in-doubt";
    }
    return "unknown";
}

/* In steps: a signal that comes just before a sleep doesn't wake it. */
void nm_scale_sleep(const volatile bool *stop, uint64_t usec)
{
    uint64_t end = nm_now_usec() + usec, now;

    while (!(stop && *stop) && (now = nm_now_usec()) < end) {
        uint64_t step = NM_MIN(end - now, 200 * NM_USEC_PER_MSEC);
        const struct timespec ts = {.tv_nsec = (long)(step * NM_NSEC_PER_USEC)};

        (void)nanosleep(&ts, NULL);
    }
}

/* The first reason stays: what comes of it later is said as progress. */
nm_printf(3, 4) static void end(struct nm_scale_result *res, enum nm_scale_exit exit, const char *format, ...)
{
    va_list ap;

    if (res->exit != NM_SCALE_OK)
        return;
    res->exit = exit;
    va_start(ap, format);
    if (vasprintf(&res->why, format, ap) < 0)
        res->why = NULL;
    va_end(ap);
}

static int refresh(const struct nm_scale_apply *a, char **ret_message)
{
    uint64_t force_usec = a->options->force_after_usec;
    const char *more[] = {"-refreshNodes", "-g", "-server", NULL, NULL};
    char seconds[24];

    if (force_usec != NM_SCALE_NEVER) {
        (void)snprintf(seconds, sizeof seconds, "%" PRIu64, force_usec / NM_USEC_PER_SEC);
        more[2] = seconds;
        more[3] = "-server";
    }
    return nm_scale_command(a->options->rmadmin, more, RMADMIN_USEC, ret_message);
}

static int write_exclude(const struct nm_scale_apply *a, const char *text, char **ret_message)
{
    const char *path = a->options->exclude_file;
    int r = text ? nm_scale_replace_file(path, text, 0644) : -ENOMEM;

    return r < 0 ? nm_fail(ret_message, r, "%s can't be written: %s", path, strerror(-r)) : 0;
}

static int add_target(struct nm_scale_result *res, const struct nm_scale_node *n, bool alive)
{
    struct nm_scale_target *grown = reallocarray(res->targets, res->n + 1, sizeof *grown), *t;

    if (!grown)
        return -ENOMEM;
    res->targets = grown;
    t = &grown[res->n];
    *t = (struct nm_scale_target){
        .mb = alive ? n->free_mb : 0,
        .vcores = alive ? n->free_vcores : 0,
        .labelled = *n->label != '\0',
    };
    t->id = strdup(n->id);
    t->host = strdup(n->host);
    if (!t->id || !t->host) {
        free(t->id);
        free(t->host);
        return -ENOMEM;
    }
    res->n++;
    return 0;
}

/* What an nmscale that was killed has marked: nodes on their way are taken over, those that run are let go first. What
 * it has given back stays as it is. *stale: those to let go. */
static int take_over(const struct nm_scale_model *m, char *const *marked, size_t n, struct nm_scale_result *res,
                     char **stale, size_t *n_stale)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < m->n_nodes; k++) {
            const struct nm_scale_node *node = &m->nodes[k];
            int r = 0;

            if (!nm_streq(node->host, marked[i]))
                continue;
            if (nm_streq(node->state, "DECOMMISSIONING")) {
                progress("%s: on its way since an earlier nmscale", node->id);
                r = add_target(res, node, false);
            } else if (nm_scale_is_running(node) && (*n_stale == 0 || stale[*n_stale - 1] != marked[i])) {
                stale[(*n_stale)++] = marked[i];
            }
            if (r < 0)
                return r;
        }
    return 0;
}

static int add_chosen(const struct nm_scale_model *m, const struct nm_scale_verdict *verdicts, const char *text,
                      struct nm_scale_result *res)
{
    int r = 0;

    for (size_t i = 0; r >= 0 && i < m->n_nodes && verdicts[i].reason == NM_SCALE_GIVE; i++) {
        if (nm_scale_exclude_has(text, verdicts[i].node->host))
            progress("%s: somebody else has excluded its host, so it is left to them", verdicts[i].node->id);
        else
            r = add_target(res, verdicts[i].node, true);
    }
    return r;
}

/* Borrowed from the targets, of those that wait (or of all). */
static char **hosts_of(const struct nm_scale_result *res, bool waiting_only, size_t *ret_n)
{
    char **hosts = calloc(res->n + 1, sizeof *hosts);

    *ret_n = 0;
    for (size_t i = 0; hosts && i < res->n; i++)
        if (!waiting_only || res->targets[i].fate == NM_SCALE_WAITING)
            hosts[(*ret_n)++] = res->targets[i].host;
    return hosts;
}

/* *ret_old is the file as it was, *ret_new as it is to be. */
static int plan(const struct nm_scale_apply *a, const struct nm_scale_model *m,
                const struct nm_scale_verdict *verdicts, struct nm_scale_result *res, char **ret_old, char **ret_new,
                char **ret_message)
{
    _cleanup_free_ char *old = NULL, *kept = NULL, **stale = NULL, **hosts = NULL;
    char **marked = NULL;
    size_t n_marked = 0, n_stale = 0, n_hosts;
    int r = nm_scale_exclude_read(a->options->exclude_file, &old, ret_message);

    if (r >= 0)
        r = nm_scale_exclude_marked(old, &marked, &n_marked);
    stale = calloc(n_marked + 1, sizeof *stale);
    if (r >= 0)
        r = stale ? take_over(m, marked, n_marked, res, stale, &n_stale) : -ENOMEM;
    if (r >= 0)
        r = (kept = nm_scale_exclude_remove(old, stale, n_stale)) ? 0 : -ENOMEM;
    nm_scale_words_free(marked, n_marked);
    if (r >= 0)
        r = add_chosen(m, verdicts, kept, res);
    if (r < 0)
        return r;
    hosts = hosts_of(res, false, &n_hosts);
    *ret_new = hosts ? nm_scale_exclude_add(kept, hosts, n_hosts) : NULL;
    if (!*ret_new)
        return -ENOMEM;
    *ret_old = STEAL_PTR(old);
    return 0;
}

/* A node that has gone may be listed by another id: after a restart the ResourceManager knows the host only. Nothing
 * at all says nothing: it may just have restarted. */
static const char *state_of(const struct nm_scale_model *m, const struct nm_scale_target *t)
{
    const struct nm_scale_node *node = nm_scale_find_node(m, t->id);

    for (size_t i = 0; !node && i < m->n_nodes; i++)
        if (nm_streq(m->nodes[i].host, t->host) && nm_streq(m->nodes[i].state, "DECOMMISSIONED"))
            node = &m->nodes[i];
    return node ? node->state : "";
}

static bool is_gone(const char *state)
{
    return nm_streq(state, "DECOMMISSIONED") || nm_streq(state, "SHUTDOWN") || nm_streq(state, "LOST");
}

/* Notes what has gone; how many still wait, and how many of those haven't even begun. */
static size_t look_at_targets(const struct nm_scale_model *m, struct nm_scale_result *res, size_t *ret_idle)
{
    size_t waiting = 0;

    *ret_idle = 0;
    for (size_t i = 0; i < res->n; i++) {
        struct nm_scale_target *t = &res->targets[i];
        const char *state = state_of(m, t);

        if (t->fate != NM_SCALE_WAITING)
            continue;
        if (is_gone(state)) {
            t->fate = NM_SCALE_GONE;
            progress("%s: decommissioned", t->id);
            continue;
        }
        waiting++;
        *ret_idle += nm_streq(state, "RUNNING");
    }
    return waiting;
}

static bool demand_is_back(const struct nm_scale_model *m, const struct nm_scale_result *res)
{
    _cleanup_free_ struct nm_scale_capacity *theirs = calloc(res->n + 1, sizeof *theirs);
    size_t n = 0;

    for (size_t i = 0; theirs && i < res->n; i++) {
        const struct nm_scale_target *t = &res->targets[i];

        if (t->fate == NM_SCALE_WAITING && !t->labelled)
            theirs[n++] = (struct nm_scale_capacity){.id = t->id, .mb = t->mb, .vcores = t->vcores};
    }
    return n > 0 && nm_scale_demand_is_back(m, theirs, n);
}

/* Between two looks. */
struct waiting {
    uint64_t begun_usec;
    bool wanted; /* demand was back at the look before */
    size_t n, idle;
};

/* One look. Demand counts when two looks in a row see it: what has just been asked for waits for a heartbeat, too. A
 * ResourceManager that doesn't answer is waited for, until time is up. */
static void watch_once(const struct nm_scale_apply *a, struct nm_scale_result *res, struct waiting *w)
{
    _cleanup_(nm_scale_model_done) struct nm_scale_model m = {0};
    _cleanup_free_ char *message = NULL;
    uint64_t passed;
    char duration[32];
    int r = nm_scale_rm_look(a->rm, NM_SCALE_BRIEF, &m, &message);

    if (r >= 0)
        w->n = look_at_targets(&m, res, &w->idle);
    else if (r != -ECANCELED)
        progress("waiting for the ResourceManager: %s", message ? message : strerror(-r));
    passed = nm_now_usec() - w->begun_usec;
    if (*a->stop)
        end(res, NM_SCALE_INTERRUPTED, "interrupted");
    else if (r >= 0 && w->n > 0 && demand_is_back(&m, res) && w->wanted)
        end(res, NM_SCALE_DEMAND_BACK, "%" PRIu64 " containers wait, and the other nodes have no room for them",
            m.demand.containers);
    else if (r >= 0 && w->n > 0 && w->n == w->idle && passed > NM_MIN(TAKEN_UP_USEC, a->options->timeout_usec))
        end(res, NM_SCALE_FAILED,
            "the ResourceManager goes on with the nodes as if nothing were said: is %s what "
            "yarn.resourcemanager.nodes.exclude-path names on its host?",
            a->options->exclude_file);
    else if (w->n > 0 && passed > a->options->timeout_usec)
        end(res, NM_SCALE_PUT_BACK,
            "not decommissioned after %s: containers run there, or data of running applications is needed",
            nm_format_duration(a->options->timeout_usec, duration, sizeof duration));
    w->wanted = r >= 0 && demand_is_back(&m, res);
}

static void watch(const struct nm_scale_apply *a, struct nm_scale_result *res)
{
    struct waiting w = {.begun_usec = nm_now_usec(), .n = res->n};

    for (;;) {
        watch_once(a, res, &w);
        if (w.n == 0 || res->exit != NM_SCALE_OK)
            return;
        nm_scale_sleep(a->stop, a->options->poll_usec);
    }
}

static int put_back_once(const struct nm_scale_apply *a, const struct nm_scale_result *res, char **ret_message)
{
    _cleanup_free_ char *old = NULL, *new = NULL, **hosts = NULL;
    size_t n;
    int r = nm_scale_exclude_read(a->options->exclude_file, &old, ret_message);

    if (r < 0)
        return r;
    hosts = hosts_of(res, true, &n);
    new = hosts ? nm_scale_exclude_remove(old, hosts, n) : NULL;
    r = write_exclude(a, new, ret_message);
    return r < 0 ? r : refresh(a, ret_message);
}

/* Until none of them is on its way any more. */
static void settle(const struct nm_scale_apply *a, struct nm_scale_result *res)
{
    uint64_t deadline = nm_now_usec() + PUT_BACK_USEC;

    for (;;) {
        _cleanup_(nm_scale_model_done) struct nm_scale_model m = {0};
        bool known = nm_scale_rm_look(a->rm, NM_SCALE_BRIEF, &m, NULL) >= 0, late = nm_now_usec() > deadline;
        size_t waiting = 0;

        for (size_t i = 0; i < res->n; i++) {
            struct nm_scale_target *t = &res->targets[i];
            const char *state = known ? state_of(&m, t) : "";

            if (t->fate != NM_SCALE_WAITING)
                continue;
            if (is_gone(state))
                t->fate = NM_SCALE_GONE;
            else if (*state && !nm_streq(state, "DECOMMISSIONING"))
                t->fate = NM_SCALE_BACK;
            else if (late)
                t->fate = NM_SCALE_IN_DOUBT;
            else
                waiting++;
            if (t->fate != NM_SCALE_WAITING)
                progress("%s: %s", t->id, t->fate == NM_SCALE_BACK ? "put back, it runs" : nm_scale_fate_name(t->fate));
        }
        if (waiting == 0)
            return;
        nm_scale_sleep(NULL, NM_MIN(a->options->poll_usec, NM_USEC_PER_SEC));
    }
}

/* Nothing interrupts this: the request to end was the reason for it, or has to wait. */
static void put_back(const struct nm_scale_apply *a, struct nm_scale_result *res)
{
    _cleanup_free_ char *message = NULL;
    int r = -EIO;

    nm_scale_http_set_stop(a->rm->http, NULL);
    progress("putting back: %s", res->why ? res->why : "it failed");
    for (int i = 0; r < 0 && i < TRIES; i++) {
        free(STEAL_PTR(message));
        r = put_back_once(a, res, &message);
        if (r < 0)
            progress("%s", message ? message : strerror(-r));
    }
    settle(a, res);
    nm_scale_http_set_stop(a->rm->http, a->stop);
    for (size_t i = 0; i < res->n; i++)
        if (res->targets[i].fate == NM_SCALE_IN_DOUBT || r < 0)
            res->exit = NM_SCALE_FAILED;
}

void nm_scale_apply(const struct nm_scale_apply *a, const struct nm_scale_model *model,
                    const struct nm_scale_verdict *verdicts, struct nm_scale_result *ret)
{
    _cleanup_free_ char *old = NULL, *new = NULL, *message = NULL;
    int r;

    *ret = (struct nm_scale_result){0};
    r = plan(a, model, verdicts, ret, &old, &new, &message);
    if (r >= 0 && !nm_streq(old, new))
        r = write_exclude(a, new, &message);
    if (r < 0) {
        end(ret, NM_SCALE_FAILED, "%s", message ? message : strerror(-r));
        return;
    }
    if (ret->n == 0)
        return;
    for (size_t i = 0; i < ret->n; i++)
        progress("%s: to be decommissioned", ret->targets[i].id);
    r = refresh(a, &message);
    if (r < 0)
        end(ret, NM_SCALE_FAILED, "%s", message ? message : strerror(-r));
    else
        watch(a, ret);
    if (ret->exit != NM_SCALE_OK)
        put_back(a, ret);
}

int nm_scale_readmit(const struct nm_scale_apply *a, char **ret_message)
{
    const struct nm_scale_options *o = a->options;
    _cleanup_free_ char *old = NULL, *new = NULL;
    int r = nm_scale_exclude_read(o->exclude_file, &old, ret_message);

    if (r < 0)
        return r;
    new = nm_scale_exclude_remove(old, (char *const *)o->readmit, o->n_readmit);
    for (size_t i = 0; new && i < o->n_readmit; i++)
        if (nm_scale_exclude_has(new, o->readmit[i]))
            return nm_fail(ret_message, -EPERM,
                           "%s: somebody else has excluded it in %s, and nmscale takes away its own lines only",
                           o->readmit[i], o->exclude_file);
    for (size_t i = 0; new && i < o->n_readmit; i++)
        if (!nm_scale_exclude_has(old, o->readmit[i]))
            return nm_fail(ret_message, -ENOENT, "%s: it is not in %s", o->readmit[i], o->exclude_file);
    r = write_exclude(a, new, ret_message);
    return r < 0 ? r : refresh(a, ret_message);
}
