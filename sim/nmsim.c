/* SPDX-License-Identifier: Apache-2.0 */

/*
 * main() of nmsim. The exit status is 0; 1 after an error or if an invariant of the policy was violated; 2 for a wrong
 * command line.
 *
 * `run` and `compare` replay one workload under a list of configurations. The first is always the base with
 * over-allocation off, with which the others are compared. The second is the requested configuration. `run` replays
 * only these two. All configurations are prepared before the first replay, so that an error in the last one is reported
 * immediately and not after minutes.
 */

#include <inttypes.h>

#include "agent/config/config-keys.h"
#include "sim/cases.h"
#include "sim/options.h"
#include "sim/progress.h"
#include "sim/report.h"
#include "util/error.h"
#include "util/inherited.h"
#include "util/json-text.h"

#define EXIT_USAGE 2

static int fail(const char *what, int r, const char *message)
{
    if (message)
        nm_diag("%s", message);
    else
        nm_diag("%s: %s", what, strerror(-r));
    return r;
}

/* Returns the reason why a valid trace can't be replayed. For an empty trace, a table of zeros would look like a
 * result. */
static const char *why_not(const struct nm_workload *w)
{
    if (w->duration_usec < w->header.period_usec)
        return "the trace is shorter than one sampling period and can't be replayed";
    if (w->n_jobs == 0)
        return "the trace has no container and can't be replayed";
    return NULL;
}

static int read_workload(const struct nm_sim_options *o, struct nm_workload **ret)
{
    _cleanup_free_ char *message = NULL;
    int r;

    if (o->generate) {
        nm_progress_step("generating the workload");
        r = nm_generate(&o->params, ret);
        nm_progress_pause();
        return r < 0 ? fail("generate", r, NULL) : 0;
    }
    nm_progress_step("reading %s", nm_streq(o->trace, "-") ? "standard input" : o->trace);
    r = nm_workload_load(o->trace, ret, &message);
    nm_progress_pause();
    if (r < 0)
        return fail(o->trace, r, message);
    if (why_not(*ret)) {
        r = fail(o->trace, -ENODATA, why_not(*ret));
        nm_workload_free(STEAL_PTR(*ret));
        return r;
    }
    if ((*ret)->cut_off)
        nm_diag("%s: the last line is incomplete and is ignored", o->trace);
    return 0;
}

static int open_workload(const struct nm_sim_options *o, struct nm_workload **ret)
{
    int r = read_workload(o, ret);

    if (r >= 0)
        (*ret)->interference = o->interference;
    return r;
}

/* ---- configurations ------------------------------------------------------ */

/* Makes all assignments, and checks the result only afterwards, because alpha may temporarily exceed the old beta. */
static int assign_all(struct nm_config *c, const struct nm_sim_options *o)
{
    _cleanup_free_ char *message = NULL;
    int r = 0;

    for (size_t i = 0; r >= 0 && i < o->set.n; i++)
        r = nm_case_assign(c, o->set.list[i], &message);
    if (r >= 0)
        r = nm_config_check(c, NULL, &message);
    return r < 0 ? fail("--set", r, message) : 0;
}

static int load_config(const struct nm_sim_options *o, const char *path, struct nm_config **ret)
{
    _cleanup_(nm_config_freep) struct nm_config *c = NULL;
    _cleanup_free_ char *message = NULL;
    int r = nm_config_load(path, true, NULL, &c, &message);

    if (r < 0)
        return fail(path, r, message);
    r = assign_all(c, o);
    if (r >= 0)
        *ret = STEAL_PTR(c);
    return r;
}

/* Makes the base: the recorded configuration, or the file of a single --config, with all --set. If --config is given
 * several times, the base is the recorded configuration, for the first row (over-allocation off), cases and sweeps. */
static int base_config(const struct nm_sim_options *o, const struct nm_workload *load,
                       struct nm_config **ret)
{
    _cleanup_(nm_config_freep) struct nm_config *c = NULL;
    int r;

    if (o->configs.n == 1)
        return load_config(o, o->configs.list[0], ret);
    r = nm_case_copy(load->config, &c);
    if (r < 0)
        return fail("the configuration", r, NULL);
    r = assign_all(c, o);
    if (r >= 0)
        *ret = STEAL_PTR(c);
    return r;
}

/* Adds the row of plain YARN, without nmd's functions. YARN kills opportunistic containers if a guaranteed container
 * needs their resources (use-pause-for-preemption is false by default). nmd's deadline for paused containers must
 * therefore not affect the figures of this row. */
static int add_off(struct nm_sim_cases *s, const struct nm_config *base)
{
    struct nm_config *c;
    int r = nm_case_copy(base, &c);

    if (r < 0)
        return fail("the configuration", r, NULL);
    c->over_allocation = false;
    c->pause = false;
    return nm_cases_add(s, "over-allocation off",
                        "plain YARN; opportunistic containers run on unallocated resources, and are killed if a "
                        "guaranteed container needs these resources", c);
}

/* Adds a row for each --config. Without --config, adds the recorded configuration. */
static int add_configs(struct nm_sim_cases *s, const struct nm_sim_options *o,
                       const struct nm_config *base)
{
    struct nm_config *c;
    int r = 0;

    if (o->configs.n == 0) {
        r = nm_case_copy(base, &c);
        return r < 0 ? fail("the configuration", r, NULL)
                     : nm_cases_add(s, o->trace ? "as recorded" : "defaults", "", c);
    }
    for (size_t i = 0; r >= 0 && i < o->configs.n; i++) {
        const char *slash = strrchr(o->configs.list[i], '/');

        r = load_config(o, o->configs.list[i], &c);
        if (r >= 0)
            r = nm_cases_add(s, slash ? slash + 1 : o->configs.list[i], "", c);
    }
    return r;
}

/* Default cases, used if the command line names no cases to compare. */
static const char *const suggestions[] = {
    "cautious: alpha=0.6, beta=0.85",
    /* sets no CPU thresholds, because their defaults may be higher than these values */
    "bold: over-allocation.memory-threshold=0.9, preemption.memory-threshold=0.98",
    "kill, don't pause: preemption.pause=no",
    "least-work-lost: victims=least-work-lost",
};

static int add_cases(struct nm_sim_cases *s, const struct nm_sim_options *o,
                     const struct nm_config *base)
{
    /* two files can be compared; a single file is only the base */
    bool none = o->cases.n == 0 && o->sweeps.n == 0 && o->configs.n < 2;
    const char *const *specs = none ? suggestions : o->cases.list;
    size_t n = none ? NM_ARRAY_SIZE(suggestions) : o->cases.n;
    _cleanup_free_ char *message = NULL;
    int r = 0;

    for (size_t i = 0; r >= 0 && i < n; i++)
        r = nm_cases_add_spec(s, base, specs[i], o->set.list, o->set.n, &message);
    if (r < 0)
        return fail("--case", r, message);
    if (o->sweeps.n > 0)
        r = nm_cases_add_sweep(s, base, o->sweeps.list, o->sweeps.n, o->set.list, o->set.n,
                               &message);
    if (r >= 0 && s->n_skipped > 0)
        nm_diag("combinations omitted, because alpha must be below beta: %u", s->n_skipped);
    return r < 0 ? fail("--sweep", r, message) : 0;
}

static int gather_cases(const struct nm_sim_options *o, const struct nm_workload *load,
                        struct nm_sim_cases *s)
{
    _cleanup_(nm_config_freep) struct nm_config *base = NULL;
    int r = base_config(o, load, &base);

    if (r >= 0)
        r = add_off(s, base);
    if (r >= 0)
        r = add_configs(s, o, base);
    if (r >= 0 && o->verb == NM_SIM_COMPARE)
        r = add_cases(s, o, base);
    return r;
}

/* ---- replays ------------------------------------------------------------- */

/* Prints a job for scripts: words in fixed positions, and -1 for times that aren't known. */
static void print_job(const struct nm_sim_container *c, uint64_t begin_usec, void *userdata)
{
    static const char *const ends[NM_SIM_END_COUNT] = {
        [NM_SIM_LIVE] = "alive",         [NM_SIM_REFUSED] = "refused", [NM_SIM_DONE] = "done",
        [NM_SIM_PREEMPTED] = "preempted", [NM_SIM_OOM] = "oom-killed",
        [NM_SIM_LIMIT] = "limit-killed"};
    bool waits = c->end == NM_SIM_LIVE && !c->view.admitted;

    (void)userdata;
    nm_progress_pause();
    printf("%" PRIu64 " %s %s %s submitted=%.3f started=%.3f ended=%.3f cpu=%.3f\n",
           c->job->number, c->job->name[0] ? c->job->name : "-",
           nm_execution_type_name(c->job->type), waits ? "waiting" : ends[c->end],
           (double)c->job->submit_usec / 1e6,
           c->running_usec ? (double)(c->running_usec - begin_usec) / 1e6 : -1,
           c->ended_usec ? (double)(c->ended_usec - begin_usec) / 1e6 : -1,
           (double)c->cpu_work / 1e9);
}

static int replay(const struct nm_workload *load, const struct nm_sim_case *c, nm_sim_job_cb_t cb,
                  struct nm_sim_result *ret)
{
    _cleanup_free_ char *message = NULL;
    int r = nm_sim_run(load, c->config, c->name, cb, NULL, ret, &message);

    nm_progress_pause();
    if (r < 0)
        return fail(c->name, r, message);
    /* the message goes to stderr, so that users see it even if the report goes to a file or another program */
    if (ret->n_violations > 0)
        nm_diag("%s: the policy violated an invariant: %s", c->name,
                ret->first_violation);
    return 0;
}

static int print_report(const struct nm_sim_options *o, const struct nm_workload *load, const struct nm_sim_case *cases,
                        const struct nm_sim_result *results, size_t n)
{
    bool compare = o->verb == NM_SIM_COMPARE;

    if (o->json) {
        json_t *j = nm_sim_report_to_json(load, compare ? results : results + 1, compare ? n : 1,
                                          &results[0]);
        _cleanup_free_ char *text = nm_json_text(j, JSON_INDENT(2) | JSON_REAL_PRECISION(9));

        json_decref(j);
        if (!text)
            return fail("the report", -ENOMEM, NULL);
        puts(text);
    } else if (compare) {
        nm_sim_report_compare(load, cases, results, n, stdout);
    } else if (!o->jobs) {
        nm_sim_report_print(load, &results[1], &results[0], stdout);
    }
    return 0;
}

static int draw(const struct nm_sim_options *o, const struct nm_workload *load,
                const struct nm_sim_result *results, size_t n)
{
    _cleanup_free_ char *message = NULL;
    int r;

    if (!o->plot)
        return 0;
    (void)fflush(stdout); /* prints the table before gnuplot can print messages */
    nm_progress_step("gnuplot draws %s", o->plot);
    r = nm_plot(load, results, n, o->plot, &message);
    nm_progress_pause();
    if (r < 0)
        return fail(o->plot, r, message);
    nm_diag("drawn: %s", o->plot);
    return 0;
}

static int run(const struct nm_sim_options *o, const struct nm_workload *load)
{
    _cleanup_(nm_cases_done) struct nm_sim_cases cases = {0};
    _cleanup_free_ struct nm_sim_result *results = NULL;
    bool violated = false;
    int r = gather_cases(o, load, &cases);

    if (r < 0)
        return r;
    results = calloc(cases.n, sizeof *results);
    if (!results)
        return fail("the results", -ENOMEM, NULL);
    for (size_t i = 0; r >= 0 && i < cases.n; i++) {
        nm_progress_step("replay %zu of %zu, %s", i + 1, cases.n, cases.list[i].name);
        /* jobs are printed for the requested configuration, not for the base */
        r = replay(load, &cases.list[i], o->jobs && i == 1 ? print_job : NULL, &results[i]);
        violated = violated || results[i].n_violations > 0;
    }
    if (r >= 0)
        r = print_report(o, load, cases.list, results, cases.n);
    if (r >= 0)
        r = draw(o, load, results, cases.n);
    /* the violation has been reported; -EPROTO only determines the exit status */
    return r < 0 ? r : violated ? -EPROTO : 0;
}

static int generate(const struct nm_sim_options *o, const struct nm_workload *load)
{
    _cleanup_fclose_ FILE *opened = o->output ? fopen(o->output, "we") : NULL;
    FILE *f = o->output ? opened : stdout;
    int r;

    if (!f)
        return fail(o->output, -errno, NULL);
    /* nm_workload_save() flushes the stream, so a full disk is reported here and not only when the file is closed */
    r = nm_workload_save(load, f);
    return r < 0 ? fail(o->output ? o->output : "standard output", r, NULL) : 0;
}

int main(int argc, char **argv)
{
    _cleanup_(nm_workload_freep) struct nm_workload *load = NULL;
    _cleanup_free_ char *message = NULL;
    struct nm_sim_options o;
    int r = nm_sim_parse_argv(argc, argv, &o);

    nm_inherited_keep_children();
    if (r != 0)
        return r < 0 ? EXIT_USAGE : EXIT_SUCCESS;
    /* an invalid picture path is a usage error, reported before any replay */
    if (o.plot && nm_plot_check_path(o.plot, &message) < 0) {
        (void)fail("--plot", -EINVAL, message);
        return EXIT_USAGE;
    }
    nm_progress_start();
    r = open_workload(&o, &load);
    if (r >= 0)
        r = o.verb == NM_SIM_GENERATE ? generate(&o, load) : run(&o, load);
    nm_progress_stop();
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
