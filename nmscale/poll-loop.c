/* SPDX-License-Identifier: Apache-2.0 */

/* See options.h. */

#include "nmscale/options.h"

#include <errno.h>
#include <signal.h>

#include "nmscale/apply.h"
#include "nmscale/memory.h"
#include "nmscale/print.h"
#include "nmscale/system.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/json-text.h"

struct run {
    const struct nm_scale_options *options;
    char *state; /* path of the memory; NULL: no memory is kept */
    int state_lock, exclude_lock;
    struct nm_scale_rm rm;
    struct nm_scale_memory memory;
};

/* Set by SIGINT, SIGTERM and SIGHUP. */
static volatile bool stop;

static void on_signal(int signal)
{
    (void)signal;
    stop = true;
}

/* Sets up signals without SA_RESTART, so that signals interrupt sleeps and waits. A closed output is detected when it
 * is flushed. */
static void set_up_signals(void)
{
    const struct sigaction action = {.sa_handler = on_signal};
    const int signals[] = {SIGINT, SIGTERM, SIGHUP};

    for (size_t i = 0; i < NM_ARRAY_SIZE(signals); i++)
        (void)sigaction(signals[i], &action, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
}

static enum nm_scale_exit fail(enum nm_scale_exit exit, const char *message, int r)
{
    nm_diag("%s", message ? message : strerror(-r));
    return exit;
}

static int lock(const char *path, int *ret_fd)
{
    int r = nm_scale_lock(path, ret_fd);

    if (r == -EWOULDBLOCK)
        nm_diag("another nmscale is running: %s.lock is locked", path);
    else if (r < 0)
        nm_diag("%s.lock can't be locked: %s", path, strerror(-r));
    return r;
}

static enum nm_scale_exit lock_exit(int r)
{
    return r == -EWOULDBLOCK ? NM_SCALE_BUSY : NM_SCALE_FAILED;
}

/* Opens the memory and locks it for the whole run, because two processes that watch would overwrite each other's data.
 * The first address identifies the cluster, so the order of addresses must not change. The memory of another cluster is
 * refused. */
static enum nm_scale_exit open_memory(struct run *run)
{
    const struct nm_scale_options *o = run->options;
    _cleanup_free_ char *message = NULL;
    int r;

    run->state = o->state ? strdup(o->state) : nm_scale_memory_default_path();
    if (!run->state)
        return fail(NM_SCALE_FAILED, "HOME is not set: name a state file with --state", 0);
    r = nm_scale_make_parents(run->state);
    if (r < 0) {
        nm_diag("the directory of %s can't be created: %s", run->state, strerror(-r));
        return NM_SCALE_FAILED;
    }
    r = lock(run->state, &run->state_lock);
    if (r < 0)
        return lock_exit(r);
    r = nm_scale_memory_load(run->state, o->rms[0], &run->memory, &message);
    return r < 0 ? fail(NM_SCALE_FAILED, message, r) : NM_SCALE_OK;
}

static enum nm_scale_exit save_memory(const struct run *run)
{
    _cleanup_free_ char *message = NULL;
    int r = nm_scale_memory_save(run->state, run->options->rms[0], &run->memory, &message);

    return r < 0 ? fail(NM_SCALE_FAILED, message, r) : NM_SCALE_OK;
}

/* Returns all targets with their results. Returns NULL if memory ran out; json_object_set_new() refuses NULL. */
static json_t *result_to_json(const struct nm_scale_result *res)
{
    json_auto_t *nodes = json_array();

    for (size_t i = 0; i < res->n; i++)
        if (json_array_append_new(nodes, json_pack("{s:s, s:s, s:s}", "node", res->targets[i].id, "host",
                                                   res->targets[i].host, "outcome",
                                                   nm_scale_outcome_name(res->targets[i].outcome))) < 0)
            return NULL;
    return json_pack("{s:i, s:s?, s:O}", "exit", (int)res->exit, "why", res->why, "nodes", nodes);
}

/* Prints one JSON document per poll, on a single line if more documents follow. */
static enum nm_scale_exit report_json(const struct run *run, const struct nm_scale_finding *f,
                                      const struct nm_scale_result *res)
{
    json_t *j = nm_scale_to_json(f);
    int r = run->options->apply ? json_object_set_new(j, "applied", result_to_json(res)) : 0;
    size_t flags = run->options->watch ? JSON_COMPACT : JSON_INDENT(2);
    _cleanup_free_ char *text = r >= 0 ? nm_json_text(j, flags) : NULL;

    json_decref(j);
    if (!text)
        return fail(NM_SCALE_FAILED, NULL, -ENOMEM);
    (void)puts(text);
    return NM_SCALE_OK;
}

/* Prints the result. The sentence goes to stderr, for cron's mail, and the table to stdout. */
static void report_result(const struct nm_scale_result *res)
{
    size_t gone = 0;

    for (size_t i = 0; i < res->n; i++)
        gone += res->targets[i].outcome == NM_SCALE_GONE;
    if (res->n > 0)
        printf("%zu of %zu decommissioned: %s\n", gone, res->n,
               gone > 0 ? "the decommissioned nodes can be switched off" : "no node can be switched off");
    for (size_t i = 0; i < res->n; i++)
        printf("  %s  %s\n", res->targets[i].id, nm_scale_outcome_name(res->targets[i].outcome));
    if (res->why)
        nm_diag("%s", res->why);
}

/* Restarts the idle time of nodes that were put back, so that the next poll doesn't choose them again immediately. */
static void remember_result(struct run *run, const struct nm_scale_result *res)
{
    for (size_t i = 0; i < res->n; i++)
        if (res->targets[i].outcome != NM_SCALE_GONE)
            nm_scale_memory_restart(&run->memory, res->targets[i].id, nm_realtime_usec() / NM_USEC_PER_MSEC);
}

/* Prints and applies. A table is printed before applying, because a person wants to see the plan. JSON is printed
 * afterwards, because a program needs one complete document. */
static enum nm_scale_exit report_and_apply(struct run *run, const struct nm_scale_finding *f)
{
    const struct nm_scale_options *o = run->options;
    const struct nm_scale_apply a = {.options = o, .rm = &run->rm, .stop = &stop};
    _cleanup_(nm_scale_result_done) struct nm_scale_result res = {0};
    enum nm_scale_exit e = NM_SCALE_OK;

    if (!o->json) {
        nm_scale_print_table(stdout, f);
        (void)fflush(stdout); /* flushed before applying, because applying takes long */
    }
    if (o->apply) {
        nm_scale_apply(&a, f->model, f->verdicts, &res);
        remember_result(run, &res);
        e = save_memory(run);
    }
    if (o->json)
        e = report_json(run, f, &res) == NM_SCALE_OK ? e : NM_SCALE_FAILED;
    else if (o->apply)
        report_result(&res);
    if (fflush(stdout) != 0 || ferror(stdout))
        return fail(NM_SCALE_FAILED, "standard output can't be written", 0);
    return res.exit != NM_SCALE_OK ? res.exit : e;
}

/* Polls once. Saves the memory before it prints or applies results, so that a run that is killed later keeps its
 * data. */
static enum nm_scale_exit poll_once(struct run *run)
{
    const struct nm_scale_options *o = run->options;
    _cleanup_(nm_scale_model_done) struct nm_scale_model model = {0};
    _cleanup_free_ struct nm_scale_verdict *verdicts = NULL;
    _cleanup_free_ char *message = NULL;
    uint64_t now_msec;
    enum nm_scale_exit e;
    int r = nm_scale_rm_query(&run->rm, NM_SCALE_FULL, &model, &message);

    if (r == -ECANCELED)
        return NM_SCALE_INTERRUPTED;
    if (r < 0)
        return fail(r == -ENOMEM ? NM_SCALE_FAILED : NM_SCALE_NO_RM, message, r);
    now_msec = nm_realtime_usec() / NM_USEC_PER_MSEC;
    r = nm_scale_memory_update(&run->memory, &model, now_msec, o->max_gap_usec / NM_USEC_PER_MSEC);
    if (r >= 0)
        r = nm_scale_choose(&model, &run->memory, &o->rules, &verdicts);
    if (r < 0)
        return fail(NM_SCALE_FAILED, NULL, r);
    e = save_memory(run);
    if (e != NM_SCALE_OK)
        return e;
    return report_and_apply(run, &(struct nm_scale_finding){.model = &model,
                                                           .verdicts = verdicts,
                                                           .rules = &o->rules,
                                                           .rm = o->rms[run->rm.active],
                                                           .now_msec = now_msec,
                                                           .all = o->all});
}

/* Polls repeatedly. A failed poll doesn't end the watch, because the ResourceManager may be unavailable for some time.
 * If nodes are in doubt after an attempt to give them back, the watch ends, because an administrator has to act. */
static enum nm_scale_exit watch(struct run *run)
{
    while (!stop) {
        enum nm_scale_exit e = poll_once(run);

        if (e == NM_SCALE_FAILED || e == NM_SCALE_INTERRUPTED)
            return e == NM_SCALE_FAILED || run->options->apply ? e : NM_SCALE_OK;
        if (!stop)
            nm_scale_sleep(&stop, run->options->interval_usec);
    }
    return NM_SCALE_OK;
}

/* Readmits hosts. This command uses neither the ResourceManager's REST API nor the memory: it succeeds if the file was
 * written and rmadmin succeeded. */
static enum nm_scale_exit readmit(struct run *run)
{
    const struct nm_scale_apply a = {.options = run->options};
    _cleanup_free_ char *message = NULL;
    int r = nm_scale_readmit(&a, &message);

    return r < 0 ? fail(NM_SCALE_FAILED, message, r) : NM_SCALE_OK;
}

/* Runs with all locks. The exclude file's lock is taken first, because an nmscale with another account or state file
 * may work on the same cluster. */
static enum nm_scale_exit run_all(struct run *run)
{
    const struct nm_scale_options *o = run->options;
    enum nm_scale_exit e;
    int r;

    if (o->exclude_file) {
        r = lock(o->exclude_file, &run->exclude_lock);
        if (r < 0)
            return lock_exit(r);
    }
    if (o->n_readmit > 0)
        return readmit(run);
    e = open_memory(run);
    if (e != NM_SCALE_OK)
        return e;
    r = nm_scale_http_new(o->http_timeout_usec, &stop, &run->rm.http);
    if (r < 0)
        return fail(NM_SCALE_FAILED, NULL, r);
    return o->watch ? watch(run) : poll_once(run);
}

enum nm_scale_exit nm_scale_run(const struct nm_scale_options *o)
{
    struct run run = {
        .options = o,
        .state_lock = -EBADF,
        .exclude_lock = -EBADF,
        .rm = {.urls = o->rms, .n_urls = o->n_rms, .ask_nodes = o->ask_nodes},
    };
    enum nm_scale_exit e;

    set_up_signals();
    e = run_all(&run);
    nm_scale_http_free(run.rm.http);
    nm_scale_memory_done(&run.memory);
    nm_close(run.state_lock);
    nm_close(run.exclude_lock);
    free(run.state);
    return e;
}
