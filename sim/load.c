/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reads a trace. A trace is untrusted, so every line is checked. The first invalid line ends the reading, with a
 * message that contains the file, the line, the invalid value and the allowed values. Only a last line without a
 * newline is accepted and ignored, because the recording of a killed nmd ends with such a line.
 *
 * A recording is by wall time, and is converted to use by a job's own progress. A sample has the CPU time since the
 * previous sample, and the memory that is in use at the time of the sample. The CPU therefore belongs to the interval
 * before the sample, and the memory belongs to the interval that begins with the sample.
 *
 * A made-up trace needs no conversion, because its jobs contain their curves. One trace may contain jobs of both kinds;
 * only the header's recorded_usec distinguishes the traces.
 */

#include "sim/workload.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>

#include "agent/config/config-keys.h"
#include "cgroup/cgroup.h"
#include "sim/progress.h"
#include "util/error.h"
#include "util/json-text.h"
#include "util/parse.h"

/* Limits far above the values of any real node or recording: a larger number is an error or an attack. */
#define TIME_MAX (UINT64_C(10) * 366 * 86400 * NM_USEC_PER_SEC)
#define MEMORY_MAX (UINT64_C(1) << 50)
#define CPU_MAX UINT64_C(100000000) /* millicores */
#define CPUS_MAX UINT64_C(100000)
#define LINE_BYTES_MAX (64 << 20)

/* The state of a job while its recording is read. */
struct follower {
    bool running;
    uint64_t since_usec;    /* if running: time of the job's last start or resume */
    uint64_t progress_usec; /* progress before since_usec */
    bool dying;             /* the job was killed and has not ended */
    bool resumed;           /* the next sample includes a part of the job's pause */
    struct nm_use use;      /* last row of the job */
};

struct load {
    struct nm_workload *w;
    struct follower *followers; /* parallel array of w->jobs */
    size_t *numbered;           /* indexes of jobs that weren't refused */
    size_t n_numbered, size;    /* size: number of elements allocated in both arrays */
    const char *name;
    unsigned long line;
    char *message;
    const char *event; /* name of this line's event */
    uint64_t now_usec, sampled_usec;
    uint64_t containers_memory; /* sum of the last rows of all containers */
    uint64_t containers_cpu;
    uint32_t system_cpu;
};

/* ---- error messages ------------------------------------------------------ */

nm_printf(2, 3) static int fail(struct load *l, const char *format, ...)
{
    _cleanup_free_ char *text = NULL;
    va_list ap;

    va_start(ap, format);
    text = nm_strdup_vprintf(format, ap);
    va_end(ap);
    if (!text)
        return -ENOMEM;
    /* The message contains untrusted text. Replace control characters, which could control the terminal. */
    for (char *p = text; *p; p++)
        if (!isprint((unsigned char)*p))
            *p = '?';
    free(l->message);
    l->message = nm_strdup_printf("%s:%lu: %s", l->name, l->line, text);
    return l->message ? -EBADMSG : -ENOMEM;
}

/* Reports a value with its event and member, because a line may be long. Only the beginning of the value is printed. */
static int fail_value(struct load *l, const char *name, const json_t *value,
                      const char *allowed)
{
    _cleanup_free_ char *text = nm_json_text(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);

    if (!value)
        return fail(l, "%s: \"%s\" is missing: it must be %s", l->event, name, allowed);
    return fail(l, "%s: \"%s\" is %.60s: it must be %s", l->event, name, text ? text : "?",
                allowed);
}

/* Reads an integer. jansson's integers are signed 64-bit numbers, so no limit may exceed INT64_MAX. */
static int take_number(struct load *l, const json_t *j, const char *name, uint64_t max,
                       uint64_t *ret)
{
    const json_t *value = json_object_get(j, name);
    char allowed[64];

    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        (uint64_t)json_integer_value(value) > max) {
        (void)snprintf(allowed, sizeof allowed, "a whole number from 0 to %" PRIu64, max);
        return fail_value(l, name, value, allowed);
    }
    *ret = (uint64_t)json_integer_value(value);
    return 0;
}

static int take_optional(struct load *l, const json_t *j, const char *name, uint64_t max,
                         uint64_t *ret)
{
    return json_object_get(j, name) ? take_number(l, j, name, max, ret) : 0;
}

/* Reads a name. Names are printed to terminals, so they must consist of the characters that nmd allows. */
static int take_name(struct load *l, const json_t *j, const char *name, char buf[NM_NAME_SIZE])
{
    const json_t *value = json_object_get(j, name);
    const char *text = json_string_value(value);

    if (!value)
        return 0;
    if (!text || !nm_name_is_valid(text))
        return fail_value(l, name, value, "1 to 63 letters, digits, '.', '_' or '-'");
    (void)snprintf(buf, NM_NAME_SIZE, "%s", text);
    return 0;
}

static int take_request(struct load *l, const json_t *j, enum nm_execution_type *ret_type,
                        struct nm_resources *ret)
{
    const json_t *type = json_object_get(j, "type");
    int r;

    if (!json_is_string(type) ||
        nm_execution_type_from_string(json_string_value(type), ret_type) < 0)
        return fail_value(l, "type", type, "GUARANTEED or OPPORTUNISTIC");
    r = take_number(l, j, "memory", MEMORY_MAX, &ret->memory_bytes);
    return r < 0 ? r : take_number(l, j, "cpu", CPU_MAX, &ret->cpu_millicores);
}

/* ---- the header ---------------------------------------------------------- */

/* Reads the sections that affect decisions. Ignores other sections, because a trace is untrusted. */
static int take_config(struct load *l, const json_t *j)
{
    struct nm_config *c = l->w->config;
    json_t *value;
    const char *name;

    json_object_foreach((json_t *)j, name, value) {
        const char *dot = strchr(name, '.'), *text = json_string_value(value);
        char section[32], allowed[320];
        const struct nm_config_key *key;

        if (!dot || (size_t)(dot - name) >= sizeof section)
            continue;
        memcpy(section, name, (size_t)(dot - name));
        section[dot - name] = '\0';
        key = nm_config_find_key(section, dot + 1);
        if (!key || !nm_trace_has_section(section))
            continue; /* a newer nmd has keys that this nmsim doesn't know */
        if (!text || nm_config_set(c, key, text) < 0)
            return fail_value(l, name, value, nm_config_allowed(key, allowed, sizeof allowed));
    }
    if (nm_config_check(c, NULL, &l->message) < 0) {
        _cleanup_free_ char *why = STEAL_PTR(l->message);

        return fail(l, "the recorded configuration: %s", why ? why : "out of memory");
    }
    return 0;
}

/* Reads features. Ignores an unknown feature, which comes from a newer nmd, because this policy can't use it. */
static int take_features(struct load *l, const json_t *j)
{
    size_t n = json_array_size(j);

    if (!json_is_array(j))
        return fail_value(l, "features", j, "a list of words");
    for (size_t i = 0; i < n; i++) {
        const char *word = json_string_value(json_array_get(j, i));

        for (int f = 0; word && f < NM_CGROUP_FEATURE_COUNT; f++)
            if (nm_streq(word, nm_cgroup_feature_name((enum nm_cgroup_feature)f)))
                l->w->header.feature[f] = true;
    }
    return 0;
}

static int take_node(struct load *l, const json_t *node)
{
    struct nm_trace_header *h = &l->w->header;
    uint64_t cpus = 0;
    int r;

    if (!json_is_object(node))
        return fail_value(l, "node", node, "an object with memory_bytes and cpus");
    r = take_number(l, node, "memory_bytes", MEMORY_MAX, &h->memory_bytes);
    if (r >= 0)
        r = take_number(l, node, "cpus", CPUS_MAX, &cpus);
    if (r >= 0)
        r = take_optional(l, node, "swap_bytes", MEMORY_MAX, &h->swap_bytes);
    h->n_cpus = (uint32_t)cpus;
    if (r >= 0 && (h->memory_bytes == 0 || h->n_cpus == 0))
        return fail(l, "the header: a node without memory or CPUs can't be simulated");
    return r;
}

static int take_header(struct load *l, const json_t *j)
{
    struct nm_trace_header *h = &l->w->header;
    const json_t *version = json_object_get(j, "nmd_trace"), *host = json_object_get(j, "host");
    int r;

    l->event = "the header";
    if (!version)
        return fail(l, "this is not a trace of nmd: the first line must be its header, {\"nmd_trace\":%d,...}",
                    NM_TRACE_VERSION);
    if (!json_is_integer(version) || json_integer_value(version) != NM_TRACE_VERSION)
        return fail_value(l, "nmd_trace", version, "1, the only version that this nmsim supports");
    if (json_is_string(host))
        (void)snprintf(h->host, sizeof h->host, "%s", json_string_value(host));
    /* the host name becomes part of the title, which terminals and gnuplot interpret */
    for (char *p = h->host; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '.' && *p != '-' && *p != '_')
            *p = '?';
    r = take_optional(l, j, "recorded_usec", INT64_MAX, &h->recorded_usec);
    if (r >= 0)
        r = take_number(l, j, "period_usec", 60 * NM_USEC_PER_SEC, &h->period_usec);
    if (r >= 0 && h->period_usec < 100 * NM_USEC_PER_MSEC)
        r = fail_value(l, "period_usec", json_object_get(j, "period_usec"),
                       "a whole number from 100000 to 60000000");
    if (r >= 0)
        r = take_node(l, json_object_get(j, "node"));
    if (r >= 0)
        r = take_features(l, json_object_get(j, "features"));
    return r < 0 ? r : take_config(l, json_object_get(j, "config"));
}

/* ---- jobs ---------------------------------------------------------------- */

/* Returns a job's progress: wall time without pauses. The slowdown of a job by a squeeze isn't subtracted, because a
 * recording doesn't contain it. */
static uint64_t progress(const struct follower *f, uint64_t at_usec)
{
    return f->progress_usec + (f->running ? nm_sub_u64(at_usec, f->since_usec) : 0);
}

/* Finds a job by binary search, because numbers ascend. The numbers are nmd's arrival numbers. They are large in a
 * recording that begins late, so they can't be used as indexes. */
static int find_number(const struct load *l, uint64_t number, size_t *ret)
{
    size_t low = 0, high = l->n_numbered;

    while (low < high) {
        size_t at = low + (high - low) / 2;
        uint64_t found = l->w->jobs[l->numbered[at]].number;

        if (found == number) {
            *ret = l->numbered[at];
            return 0;
        }
        if (found < number)
            low = at + 1;
        else
            high = at;
    }
    return -ENOENT;
}

static int find_job(struct load *l, const json_t *j, size_t *ret)
{
    uint64_t number;
    int r = take_number(l, j, "c", INT64_MAX, &number);

    if (r < 0)
        return r;
    if (number == 0 || find_number(l, number, ret) < 0 ||
        l->w->jobs[*ret].end != NM_SIM_JOB_ALIVE)
        return fail_value(l, "c", json_object_get(j, "c"),
                          "the number of a container that was submitted and has not ended");
    return 0;
}

/* Enlarges the arrays to the size of the workload's array of jobs, which nm_workload_add_job() has just enlarged. */
static int make_room(struct load *l)
{
    struct follower *followers;
    size_t *numbered;

    if (l->w->jobs_size <= l->size)
        return 0;
    followers = reallocarray(l->followers, l->w->jobs_size, sizeof *followers);
    if (!followers)
        return -ENOMEM;
    l->followers = followers;
    numbered = reallocarray(l->numbered, l->w->jobs_size, sizeof *numbered);
    if (!numbered)
        return -ENOMEM;
    l->numbered = numbered;
    l->size = l->w->jobs_size;
    return 0;
}

static int add_job(struct load *l, struct nm_sim_job *job)
{
    size_t i;
    int r = nm_workload_add_job(l->w, job, &i);

    if (r < 0)
        return r;
    job->curve = (struct nm_curve){0}; /* the workload owns the curve now */
    r = make_room(l);
    if (r < 0)
        return r;
    l->followers[i] = (struct follower){.running = job->present, .since_usec = l->now_usec};
    if (job->number > 0)
        l->numbered[l->n_numbered++] = i;
    return 0;
}

/* Reads [[at, memory, cpu], ...] of a made-up trace. The first point must be at 0, so that the use is known from the
 * beginning. */
static int take_curve(struct load *l, const json_t *rows, struct nm_curve *c)
{
    size_t n = json_array_size(rows);
    uint64_t last = 0;

    if (!json_is_array(rows) || n == 0)
        return fail_value(l, "curve", rows, "a list of [time, memory, millicores]");
    for (size_t i = 0; i < n; i++) {
        const json_t *row = json_array_get(rows, i);
        uint64_t v[3];
        int r;

        if (json_array_size(row) != 3)
            return fail_value(l, "curve", row, "rows of [time, memory, millicores]");
        for (size_t k = 0; k < 3; k++) {
            static const uint64_t max[] = {TIME_MAX, MEMORY_MAX, CPU_MAX};
            const json_t *x = json_array_get(row, k);

            v[k] = (uint64_t)json_integer_value(x);
            if (!json_is_integer(x) || json_integer_value(x) < 0 || v[k] > max[k])
                return fail_value(l, "curve", row, "three whole numbers within their ranges");
        }
        if ((i == 0) != (v[0] == 0) || v[0] < last)
            return fail_value(l, "curve", row, "later than the row before; the first is at 0");
        last = v[0];
        r = nm_curve_add(c, &(struct nm_use){v[0], v[1], (uint32_t)v[2]});
        if (r < 0)
            return r;
    }
    return 0;
}

static int fill_submit(struct load *l, const json_t *j, struct nm_sim_job *job)
{
    const json_t *curve = json_object_get(j, "curve");
    char app[NM_NAME_SIZE] = "";
    int r = take_request(l, j, &job->type, &job->request);

    if (r >= 0)
        r = take_name(l, j, "name", job->name);
    if (r >= 0)
        r = take_name(l, j, "app", app);
    if (r >= 0)
        r = take_optional(l, j, "min_runtime", TIME_MAX, &job->min_runtime_usec);
    if (r >= 0)
        r = take_optional(l, j, "expected", TIME_MAX, &job->expected_usec);
    if (r >= 0)
        r = take_optional(l, j, "ran", TIME_MAX, &job->ran_usec);
    if (r >= 0)
        r = nm_workload_app(l->w, app, &job->app);
    /* "ran" means that the job was started before the trace; the trace then has no start event for the job */
    job->exempt = json_is_true(json_object_get(j, "exempt"));
    job->cpu_is_share = json_is_true(json_object_get(j, "share"));
    job->present = job->started = json_object_get(j, "ran") != NULL;
    if (r < 0 || !curve)
        return r;
    /* A made-up job needs no completion. It counts as done, because it ends by itself unless the policy prevents
     * that. */
    r = take_curve(l, curve, &job->curve);
    job->run_usec = NM_RUN_FOR_EVER;
    if (r >= 0)
        r = take_optional(l, j, "run", TIME_MAX, &job->run_usec);
    job->started = true;
    job->end = NM_SIM_JOB_DONE;
    return r;
}

static int on_submit(struct load *l, const json_t *j)
{
    struct nm_sim_job job = {.submit_usec = l->now_usec};
    uint64_t last = l->n_numbered > 0 ? l->w->jobs[l->numbered[l->n_numbered - 1]].number : 0;
    int r = take_number(l, j, "c", INT64_MAX, &job.number);

    if (r >= 0 && job.number <= last)
        r = fail_value(l, "c", json_object_get(j, "c"), "larger than those before it");
    if (r >= 0)
        r = fill_submit(l, j, &job);
    if (r >= 0)
        r = add_job(l, &job);
    free(job.curve.points);
    return r;
}

/* Adds a refused job, which another configuration might accept. Such a job has no number, so no later line refers to
 * it. */
static int on_refused(struct load *l, const json_t *j)
{
    struct nm_sim_job job = {.submit_usec = l->now_usec, .refused = true};
    int r = take_request(l, j, &job.type, &job.request);

    if (r >= 0)
        r = take_name(l, j, "name", job.name);
    return r < 0 ? r : add_job(l, &job);
}

static int on_start(struct load *l, const json_t *j)
{
    size_t i;
    int r = find_job(l, j, &i);

    if (r < 0)
        return r;
    if (l->w->jobs[i].started)
        return fail(l, "start: container %" PRIu64 " is already running", l->w->jobs[i].number);
    l->w->jobs[i].started = true;
    l->followers[i].running = true;
    l->followers[i].since_usec = l->now_usec;
    return 0;
}

/* Ends the running time when the job is frozen. The time that freezing takes counts as running. */
static int on_pause(struct load *l, const json_t *j)
{
    size_t i;
    int r = find_job(l, j, &i);

    if (r < 0)
        return r;
    l->followers[i].progress_usec = progress(&l->followers[i], l->now_usec);
    l->followers[i].running = false;
    return 0;
}

static int on_resume(struct load *l, const json_t *j)
{
    size_t i;
    int r = find_job(l, j, &i);

    if (r < 0)
        return r;
    /* A cancelled freeze is recorded as a resume without a pause. */
    if (l->w->jobs[i].started && !l->followers[i].running) {
        l->followers[i].running = l->followers[i].resumed = true;
        l->followers[i].since_usec = l->now_usec;
    }
    return 0;
}

/* From now on, samples show how the kernel frees the job's memory. In a replay that kills another job, this job must
 * not lose its memory. The time until the end counts as running, since a job may use it to save its work. */
static int on_kill(struct load *l, const json_t *j)
{
    size_t i;
    int r = find_job(l, j, &i);

    if (r < 0)
        return r;
    l->followers[i].dying = true;
    return 0;
}

static int on_change(struct load *l, const json_t *j)
{
    struct nm_sim_job_change c = {.at_usec = l->now_usec};
    int r = find_job(l, j, &c.job);

    if (r >= 0)
        r = take_request(l, j, &c.type, &c.request);
    return r < 0 ? r : nm_workload_add_change(l->w, &c);
}

/* Returns the meaning of an exit reason. A job that was killed by nmd, by the kernel or with the node continues in a
 * replay. A job that a user or the container itself ended is done in any replay. OOM may mean either: see
 * exceeded_own_limit(). */
static enum nm_sim_job_end meaning_of(enum nm_exit_reason reason)
{
    switch (reason) {
    case NM_EXIT_OOM:
    case NM_EXIT_PREEMPTED:
    case NM_EXIT_PAUSE_DEADLINE:
    case NM_EXIT_SHED:
    case NM_EXIT_DRAINED:
    case NM_EXIT_LOST:
    case NM_EXIT_STOPPED:
        return NM_SIM_JOB_KILLED;
    default:
        return NM_SIM_JOB_DONE;
    }
}

/* Subtracts a job's last row from the sums. The sums consist of last rows, because the recording omits a row whose
 * values haven't changed. */
static void drop_use(struct load *l, struct follower *f)
{
    l->containers_memory -= f->use.memory_bytes;
    l->containers_cpu -= f->use.cpu_millicores;
    f->use = (struct nm_use){0};
}

static int on_end(struct load *l, const json_t *j)
{
    const json_t *reason = json_object_get(j, "reason");
    struct nm_sim_job *job;
    size_t i;
    int r = find_job(l, j, &i);

    if (r < 0)
        return r;
    job = &l->w->jobs[i];
    if (!json_is_string(reason) ||
        nm_exit_reason_from_string(json_string_value(reason), &job->end_reason) < 0)
        return fail_value(l, "reason", reason, "one of nmd's exit reasons");
    r = take_optional(l, j, "memory", MEMORY_MAX, &job->peak_bytes);
    if (r >= 0)
        r = take_optional(l, j, "cpu_usec", INT64_MAX, &job->cpu_usec);
    if (r < 0)
        return r;
    job->end = meaning_of(job->end_reason);
    job->run_usec = progress(&l->followers[i], l->now_usec);
    l->followers[i].progress_usec = job->run_usec;
    l->followers[i].running = false;
    drop_use(l, &l->followers[i]);
    return 0;
}

/* ---- samples ------------------------------------------------------------- */

/* Reads a row: [c, memory, millicores, usec] */
static int take_row(struct load *l, const json_t *row, uint64_t v[4], size_t *ret)
{
    static const uint64_t max[] = {INT64_MAX, MEMORY_MAX, CPU_MAX, INT64_MAX};

    if (json_array_size(row) != 4)
        return fail_value(l, "use", row, "rows of [c, memory, millicores, usec]");
    for (size_t k = 0; k < 4; k++) {
        const json_t *x = json_array_get(row, k);

        v[k] = (uint64_t)json_integer_value(x);
        if (!json_is_integer(x) || json_integer_value(x) < 0 || v[k] > max[k])
            return fail_value(l, "use", row, "four whole numbers within their ranges");
    }
    if (v[0] == 0 || find_number(l, v[0], ret) < 0 || !l->w->jobs[*ret].started ||
        l->w->jobs[*ret].end != NM_SIM_JOB_ALIVE)
        return fail_value(l, "use", row, "of a container that has started and not ended");
    return 0;
}

/*
 * Handles one row. v contains the container, memory, millicores and total CPU time. The row makes two points: `before`,
 * at the progress of the previous sample, with the CPU used since then; and `now`, with the memory from this time on. A
 * job's first row covers the whole time since the job's start.
 *
 * The first sample after a resume includes a part of the pause, so its CPU is too low. The job keeps its earlier CPU
 * use in this case.
 */
static int add_sample(struct load *l, size_t i, const uint64_t v[4])
{
    struct follower *f = &l->followers[i];
    struct nm_curve *c = &l->w->jobs[i].curve;
    uint64_t was = progress(f, NM_MAX(l->sampled_usec, f->running ? f->since_usec : UINT64_C(0)));
    struct nm_use before = {.at_usec = c->n > 0 ? was : 0,
                            .memory_bytes = c->n > 0 ? c->points[c->n - 1].memory_bytes : v[1],
                            .cpu_millicores = (uint32_t)v[2]};
    struct nm_use now = {progress(f, l->now_usec), v[1], (uint32_t)v[2]};
    int r = 0;

    drop_use(l, f);
    f->use = now;
    l->containers_memory += now.memory_bytes;
    l->containers_cpu += now.cpu_millicores;
    if (!f->running || f->dying)
        return 0; /* the memory of a paused or dying job isn't part of its curve */
    if (!f->resumed) /* if memory has grown, it grew after the point `before`, not earlier */
        r = now.memory_bytes > before.memory_bytes ? nm_curve_put(c, &before)
                                                   : nm_curve_add(c, &before);
    else if (c->n > 0)
        now.cpu_millicores = c->points[c->n - 1].cpu_millicores;
    f->resumed = false;
    return r < 0 ? r : nm_curve_add(c, &now);
}

/* Returns the time from which a sample is valid: half-way between the previous sample and this one. The samples of a
 * replay differ from the times in the recording by some milliseconds, so the values can't be assigned to the wrong
 * sample. */
static uint64_t valid_from_usec(const struct load *l)
{
    if (l->w->system.n == 0)
        return 0;
    if (l->w->header.recorded_usec == 0)
        return l->now_usec; /* the times of a made-up trace are exact */
    return l->sampled_usec + (l->now_usec - l->sampled_usec) / 2;
}

static int on_sample(struct load *l, const json_t *j)
{
    const json_t *rows = json_object_get(j, "use");
    size_t n = json_array_size(rows);
    uint64_t memory, cpu = UINT64_MAX;
    struct nm_use system;
    int r = take_number(l, j, "memory", MEMORY_MAX, &memory);

    if (r >= 0)
        r = take_optional(l, j, "cpu", CPU_MAX, &cpu);
    if (r < 0)
        return r;
    if (rows && !json_is_array(rows))
        return fail_value(l, "use", rows, "a list");
    for (size_t i = 0; i < n; i++) {
        uint64_t v[4];
        size_t job = 0;

        r = take_row(l, json_array_get(rows, i), v, &job);
        if (r >= 0)
            r = add_sample(l, job, v);
        if (r < 0)
            return r;
    }
    /* Without a value for the node, the system's use stays unchanged. nmd's first sample has no such value. */
    if (cpu != UINT64_MAX)
        l->system_cpu = (uint32_t)nm_sub_u64(cpu, l->containers_cpu);
    system = (struct nm_use){valid_from_usec(l), nm_sub_u64(memory, l->containers_memory),
                             l->system_cpu};
    if (l->w->system.n == 0)
        l->w->first_sample_usec = l->now_usec;
    l->sampled_usec = l->now_usec;
    return nm_curve_add(&l->w->system, &system);
}

/* ---- lines --------------------------------------------------------------- */

/* Accepts the event "stop". The loader needs no data from it, because the trace ends at the time of its last line, of
 * whatever kind this line is. */
static int on_stop(struct load *l, const json_t *j)
{
    (void)l, (void)j;
    return 0;
}

static int take_event(struct load *l, const json_t *j)
{
    static const struct {
        const char *name;
        int (*take)(struct load *l, const json_t *j);
    } events[] = {
        {"sample", on_sample}, {"submit", on_submit}, {"refused", on_refused},
        {"start", on_start},   {"end", on_end},       {"pause", on_pause},
        {"resume", on_resume}, {"kill", on_kill},     {"change", on_change},
        {"stop", on_stop},
    };
    const json_t *word = json_object_get(j, "ev");
    uint64_t now;
    int r;

    l->event = "an event";
    r = take_number(l, j, "t", TIME_MAX, &now);
    if (r < 0)
        return r;
    if (now < l->now_usec)
        return fail_value(l, "t", json_object_get(j, "t"), "no earlier than the line before");
    l->now_usec = now;
    for (size_t i = 0; json_is_string(word) && i < NM_ARRAY_SIZE(events); i++)
        if (nm_streq(events[i].name, json_string_value(word))) {
            l->event = events[i].name;
            return events[i].take(l, j);
        }
    return fail_value(l, "ev", word,
                      "submit, refused, start, pause, resume, kill, change, sample, end or stop");
}

static int take_line(struct load *l, const char *text, size_t len)
{
    json_error_t e;
    json_t *j = json_loadb(text, len, JSON_REJECT_DUPLICATES, &e);
    int r;

    if (!j)
        return fail(l, "this is not a JSON object: %.100s", e.text);
    if (!json_is_object(j))
        r = fail(l, "this is not a JSON object");
    else
        r = l->line == 1 ? take_header(l, j) : take_event(l, j);
    json_decref(j);
    return r;
}

static int take_lines(struct load *l, FILE *f)
{
    _cleanup_free_ char *text = NULL;
    size_t size = 0;
    ssize_t n;
    int r = 0;

    errno = 0; /* distinguishes a read error, such as for a directory, from the end of the file */
    while (r >= 0 && (n = getline(&text, &size, f)) > 0) {
        nm_progress_at(++l->line, 0);
        if (n > LINE_BYTES_MAX)
            return fail(l, "the line is longer than 64 MiB");
        if (text[n - 1] != '\n') {
            l->w->cut_off = true;
            break;
        }
        r = take_line(l, text, (size_t)n);
    }
    if (r >= 0 && ferror(f))
        return errno > 0 ? -errno : -EIO;
    if (r >= 0 && (l->line == 0 || (l->line == 1 && l->w->cut_off))) {
        l->line = 1;
        return fail(l, "this is not a trace of nmd: it has no complete line");
    }
    return r;
}

static void end_trace(struct load *l)
{
    struct nm_workload *w = l->w;
    char duration[32], date[32] = "";
    time_t begun = (time_t)(w->header.recorded_usec / NM_USEC_PER_SEC);
    struct tm tm;

    if (begun > 0 && gmtime_r(&begun, &tm))
        (void)strftime(date, sizeof date, "%Y-%m-%d %H:%M UTC, ", &tm);
    for (size_t i = 0; i < w->n_jobs; i++)
        if (w->jobs[i].end == NM_SIM_JOB_ALIVE)
            w->jobs[i].run_usec = progress(&l->followers[i], l->now_usec);
    w->duration_usec = l->now_usec;
    (void)snprintf(w->title, sizeof w->title, "%s, %s%s", w->header.host[0] ? w->header.host : "?",
                   date, nm_format_duration(w->duration_usec, duration, sizeof duration));
}

int nm_workload_read(FILE *f, const char *name, struct nm_workload **ret, char **ret_message)
{
    _cleanup_(nm_workload_freep) struct nm_workload *w = NULL;
    struct load l = {.name = name};
    int r = nm_workload_new(&w);

    *ret_message = NULL;
    if (r < 0)
        return r;
    l.w = w;
    r = take_lines(&l, f);
    if (r >= 0) {
        end_trace(&l);
        r = nm_workload_finish(w);
    }
    free(l.followers);
    free(l.numbered);
    if (r < 0) {
        *ret_message = l.message;
        return r;
    }
    free(l.message);
    *ret = STEAL_PTR(w);
    return 0;
}

int nm_workload_load(const char *path, struct nm_workload **ret, char **ret_message)
{
    _cleanup_fclose_ FILE *file = NULL;

    *ret_message = NULL;
    if (nm_streq(path, "-"))
        return nm_workload_read(stdin, "standard input", ret, ret_message);
    file = fopen(path, "re");
    if (!file)
        return -errno;
    return nm_workload_read(file, path, ret, ret_message);
}
