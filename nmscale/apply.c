/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See apply.h. Every refresh is graceful. A plain -refreshNodes would forcibly decommission all nodes whose graceful
 * decommissioning is in progress, also nodes that an administrator or another program has excluded. Without
 * --force-after the ResourceManager has no time-out: it waits for containers and for running applications with data on
 * the node. This file therefore has its own time-out, after which the nodes are put back.
 */

#include "nmscale/apply.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <time.h>

#include "nmscale/exclude.h"
#include "nmscale/system.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/parse.h"

#define RMADMIN_USEC (120 * NM_USEC_PER_SEC)  /* enough for a JVM on a busy host and for Hadoop to connect */
#define REFRESH_USEC (60 * NM_USEC_PER_SEC)  /* after rmadmin has exited, the ResourceManager changes the state within
                                                 moments */
#define PUT_BACK_USEC (60 * NM_USEC_PER_SEC)
/* Number of rmadmin runs to put nodes back, because a failed run leaves the nodes excluded. Few runs are enough: each
 * run itself tries to connect for minutes with Hadoop's default configuration. */
#define TRIES 3

/* Sleeps in short steps, because a signal that arrives just before a sleep doesn't interrupt the sleep. */
void nm_scale_sleep(const volatile bool *stop, uint64_t usec)
{
    uint64_t end = nm_now_usec() + usec, now;

    while (!(stop && *stop) && (now = nm_now_usec()) < end) {
        uint64_t step = NM_MIN(end - now, 200 * NM_USEC_PER_MSEC);
        const struct timespec ts = {.tv_nsec = (long)(step * NM_NSEC_PER_USEC)};

        (void)nanosleep(&ts, NULL);
    }
}

/* Sets the result's exit status and reason. Only the first reason is stored. Later reasons are consequences of the
 * first one and are printed as progress. */
nm_printf(3, 4) static void end(struct nm_scale_result *res, enum nm_scale_exit exit, const char *format, ...)
{
    va_list ap;

    if (res->exit != NM_SCALE_OK)
        return;
    res->exit = exit;
    va_start(ap, format);
    res->why = nm_strdup_vprintf(format, ap);
    va_end(ap);
}

/* Runs rmadmin. With -server the ResourceManager tracks the nodes, also after rmadmin has exited. With -client rmadmin
 * itself would wait, and finally decommission by force. */
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

/* Writes the exclude file. A new file is readable for all users, because the ResourceManager seldom runs under the
 * account that runs nmscale. */
static int write_exclude(const struct nm_scale_apply *a, const char *text, char **ret_message)
{
    const char *path = a->options->exclude_file;
    int r = text ? nm_scale_replace_file(path, text, 0644) : -ENOMEM;

    return r < 0 ? nm_fail(ret_message, r, "%s can't be written: %s", path, strerror(-r)) : 0;
}

/* Returns the target's state. A decommissioned node may have another id, because the ResourceManager knows only the
 * host after a restart. A node that isn't listed has no known state, because the ResourceManager may have restarted
 * shortly before. */
static const char *state_of(const struct nm_scale_model *m, const struct nm_scale_target *t)
{
    const struct nm_scale_node *node = nm_scale_find_node(m, t->id);

    for (size_t i = 0; !node && i < m->n_nodes; i++)
        if (nm_streq(m->nodes[i].host, t->host) && nm_streq(m->nodes[i].state, "DECOMMISSIONED"))
            node = &m->nodes[i];
    return node ? node->state : "";
}

/* Returns whether the node is decommissioned. The states SHUTDOWN and LOST count too, because a NodeManager that shuts
 * down may unregister or stop sending heartbeats. */
static bool is_gone(const char *state)
{
    return nm_streq(state, "DECOMMISSIONED") || nm_streq(state, "SHUTDOWN") || nm_streq(state, "LOST");
}

/* Marks decommissioned targets. Returns the number of targets that are still waiting, and in *ret_idle the number of
 * these whose decommissioning hasn't begun. */
static size_t update_targets(const struct nm_scale_model *m, struct nm_scale_result *res, size_t *ret_idle)
{
    size_t waiting = 0;

    *ret_idle = 0;
    for (size_t i = 0; i < res->n; i++) {
        struct nm_scale_target *t = &res->targets[i];
        const char *state = state_of(m, t);

        if (t->outcome != NM_SCALE_WAITING)
            continue;
        if (is_gone(state)) {
            t->outcome = NM_SCALE_GONE;
            nm_diag("%s: decommissioned", t->id);
            continue;
        }
        waiting++;
        *ret_idle += nm_streq(state, "RUNNING");
    }
    return waiting;
}

/* Returns whether demand has returned. Returns false if no memory is left for the list; the time-out still applies. */
static bool demand_has_returned(const struct nm_scale_model *m, const struct nm_scale_result *res)
{
    _cleanup_free_ struct nm_scale_capacity *theirs = calloc(res->n + 1, sizeof *theirs);
    size_t n = 0;

    for (size_t i = 0; theirs && i < res->n; i++) {
        const struct nm_scale_target *t = &res->targets[i];

        if (t->outcome == NM_SCALE_WAITING)
            theirs[n++] = (struct nm_scale_capacity){.id = t->id, .label = t->label, .mb = t->mb, .vcores = t->vcores};
    }
    return n > 0 && nm_scale_demand_has_returned(m, theirs, n);
}

/* State that is kept between two polls of the ResourceManager. */
struct waiting {
    uint64_t begun_usec;
    bool wanted; /* the previous poll found that demand had returned */
    size_t n, idle;
};

/*
 * Returns whether the ResourceManager has ended, or is no longer active. A ResourceManager that starts or becomes
 * active forcibly decommissions all hosts in the exclude file, with their running containers. It doesn't store which
 * hosts were being decommissioned gracefully. nmscale therefore removes the hosts from the file before that, if
 * possible: a start takes seconds, and nmscale polls once per --poll interval. If the ResourceManager is slow or
 * unreachable, nmscale waits, because the ResourceManager may not have ended.
 */
static bool rm_has_ended(int r)
{
    return r == -ECONNREFUSED || r == -ELOOP;
}

/* Polls once. Demand counts as returned when two consecutive polls find it, because even new requests normally wait for
 * a heartbeat. If the ResourceManager doesn't answer, nmscale waits until the time-out. */
static void watch_once(const struct nm_scale_apply *a, struct nm_scale_result *res, struct waiting *w)
{
    _cleanup_(nm_scale_model_done) struct nm_scale_model m = {0};
    _cleanup_free_ char *message = NULL;
    uint64_t passed;
    char duration[32];
    int r;

    assert(a->stop);
    r = nm_scale_rm_query(a->rm, NM_SCALE_BRIEF, &m, &message);
    if (r >= 0)
        w->n = update_targets(&m, res, &w->idle);
    else if (r != -ECANCELED)
        nm_diag("waiting for the ResourceManager: %s", message ? message : strerror(-r));
    passed = nm_now_usec() - w->begun_usec;
    if (*a->stop)
        end(res, NM_SCALE_INTERRUPTED, "interrupted");
    else if (rm_has_ended(r))
        end(res, NM_SCALE_PUT_BACK, "the ResourceManager has ended or is no longer active, and the next one would "
                                    "decommission the nodes by force");
    else if (r >= 0 && w->n > 0 && demand_has_returned(&m, res) && w->wanted)
        end(res, NM_SCALE_DEMAND_BACK, "containers wait, and the other nodes have no room for them");
    else if (r >= 0 && w->n > 0 && w->n == w->idle && passed > NM_MIN(REFRESH_USEC, a->options->timeout_usec))
        end(res, NM_SCALE_FAILED,
            "the ResourceManager still uses the nodes as before: check that yarn.resourcemanager.nodes.exclude-path on "
            "its host names %s",
            a->options->exclude_file);
    else if (w->n > 0 && passed > a->options->timeout_usec)
        end(res, NM_SCALE_PUT_BACK,
            "not decommissioned after %s: containers run there, or data of running applications is needed",
            nm_format_duration(a->options->timeout_usec, duration, sizeof duration));
    w->wanted = r >= 0 && demand_has_returned(&m, res);
}

/* Watches the targets. The first poll is made immediately, because empty nodes are decommissioned with their next
 * heartbeat, within a second. */
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

/* Removes the waiting hosts from the file. Reads the file again first, because other programs may have changed it
 * meanwhile, and their lines must be preserved. */
static int remove_marks(const struct nm_scale_apply *a, const struct nm_scale_result *res, char **ret_message)
{
    _cleanup_free_ char *old = NULL, *new = NULL, **hosts = NULL;
    size_t n;
    int r = nm_scale_exclude_read(a->options->exclude_file, &old, ret_message);

    if (r < 0)
        return r;
    hosts = nm_scale_target_hosts(res, true, &n);
    new = hosts ? nm_scale_exclude_remove(old, hosts, n) : NULL;
    return write_exclude(a, new, ret_message);
}

/* Waits until no target is being decommissioned. */
static void settle(const struct nm_scale_apply *a, struct nm_scale_result *res)
{
    uint64_t deadline = nm_now_usec() + PUT_BACK_USEC;

    for (;;) {
        _cleanup_(nm_scale_model_done) struct nm_scale_model m = {0};
        bool known = nm_scale_rm_query(a->rm, NM_SCALE_BRIEF, &m, NULL) >= 0, late = nm_now_usec() > deadline;
        size_t waiting = 0;

        for (size_t i = 0; i < res->n; i++) {
            struct nm_scale_target *t = &res->targets[i];
            const char *state = known ? state_of(&m, t) : "";

            if (t->outcome != NM_SCALE_WAITING)
                continue;
            if (is_gone(state))
                t->outcome = NM_SCALE_GONE;
            else if (*state && !nm_streq(state, "DECOMMISSIONING"))
                t->outcome = NM_SCALE_BACK;
            else if (late)
                t->outcome = NM_SCALE_IN_DOUBT;
            else
                waiting++;
            if (t->outcome != NM_SCALE_WAITING)
                nm_diag("%s: %s", t->id,
                        t->outcome == NM_SCALE_BACK ? "put back, running" : nm_scale_outcome_name(t->outcome));
        }
        if (waiting == 0)
            return;
        nm_scale_sleep(NULL, NM_MIN(a->options->poll_usec, NM_USEC_PER_SEC));
    }
}

/*
 * Puts the waiting nodes back. The nodes are first removed from the file, because a ResourceManager that starts reads
 * the file. A failure of rmadmin is ignored if the ResourceManager finally reports the nodes as running. Signals don't
 * interrupt this function: a request to end either caused the call or has to wait.
 */
static void put_back(const struct nm_scale_apply *a, struct nm_scale_result *res)
{
    _cleanup_free_ char *message = NULL;
    int off, refreshed = -EIO;

    nm_scale_http_set_stop(a->rm->http, NULL);
    nm_diag("putting the nodes back: %s", res->why ? res->why : "the decommissioning failed");
    off = remove_marks(a, res, &message);
    if (off < 0)
        nm_diag("%s", message ? message : strerror(-off));
    for (int i = 0; refreshed < 0 && i < TRIES; i++) {
        free(STEAL_PTR(message));
        refreshed = refresh(a, &message);
        if (refreshed < 0)
            nm_diag("%s", message ? message : strerror(-refreshed));
    }
    settle(a, res);
    nm_scale_http_set_stop(a->rm->http, a->stop);
    for (size_t i = 0; i < res->n; i++)
        if (res->targets[i].outcome == NM_SCALE_IN_DOUBT || off < 0)
            res->exit = NM_SCALE_FAILED;
}

void nm_scale_apply(const struct nm_scale_apply *a, const struct nm_scale_model *model,
                    const struct nm_scale_verdict *verdicts, struct nm_scale_result *ret)
{
    _cleanup_free_ char *new = NULL, *message = NULL;
    int r;

    *ret = (struct nm_scale_result){0};
    r = nm_scale_plan(a->options->exclude_file, model, verdicts, ret, &new, &message);
    if (r >= 0 && new)
        r = write_exclude(a, new, &message);
    if (r < 0) {
        end(ret, NM_SCALE_FAILED, "%s", message ? message : strerror(-r));
        return;
    }
    if (ret->n == 0)
        return;
    for (size_t i = 0; i < ret->n; i++)
        nm_diag("%s: in the exclude file, will be decommissioned", ret->targets[i].id);
    r = refresh(a, &message);
    if (r < 0)
        end(ret, NM_SCALE_FAILED, "%s", message ? message : strerror(-r));
    else
        watch(a, ret);
    if (ret->exit != NM_SCALE_OK)
        put_back(a, ret);
}

/* Readmits all hosts, or refuses the whole list: if one name is wrong, the other names may be wrong too. nmscale
 * doesn't check that the NodeManagers return. They were shut down, and the machine's administrator starts them
 * again. */
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
                           "%s: not excluded by nmscale in %s; nmscale removes only its own lines",
                           o->readmit[i], o->exclude_file);
    for (size_t i = 0; new && i < o->n_readmit; i++)
        if (!nm_scale_exclude_has(old, o->readmit[i]))
            return nm_fail(ret_message, -ENOENT, "%s: it is not in %s", o->readmit[i], o->exclude_file);
    r = write_exclude(a, new, ret_message);
    return r < 0 ? r : refresh(a, ret_message);
}
