/* SPDX-License-Identifier: Apache-2.0 */

/* See discovery.h. One timer starts the runs. The lines of a run's output go to the parser of report.h. */

#include "yarn/gpu/discovery.h"

#include <sys/stat.h>
#include <time.h>

#include "agent/admin-script.h"
#include "util/error.h"
#include "yarn/conf/conf.h"
#include "yarn/gpu/report.h"

#define NAME "nvidia-smi"
#define PROPERTY NM_YARN_PLUGINS ".gpu.path-to-discovery-executables"
#define RETRY_USEC (3 * NM_USEC_PER_SEC)
/* The report of a node with 16 GPUs and many processes has some 200 KiB. */
#define OUTPUT_MAX (2u << 20)
#define TROUBLE_SIZE 300

struct nm_yarn_gpu_discovery {
    const struct nm_yarn_gpu_settings *settings;
    void (*on_change)(void *userdata);
    void *userdata;
    sd_event *event;
    sd_event_source *timer;
    struct nm_admin_script *script;
    struct nm_yarn_gpu_report *report; /* of the run in progress; NULL: no memory */
    char *path;
    int64_t n_errors;
    bool has_list;
    struct nm_yarn_gpu list[NM_YARN_GPUS_MAX];
    size_t n;
    char trouble[TROUBLE_SIZE];
};

/* ---- the program -------------------------------------------------------------------------- */

static int check(const char *path, char **ret_message)
{
    char shown[200];
    int r = nm_admin_script_check(path);

    if (r >= 0 || r == -ENOMEM)
        return NM_MIN(r, 0);
    return nm_fail(ret_message, r, PROPERTY " = '%s': %s", nm_yarn_conf_printable(path, shown, sizeof shown),
                   r == -EPERM ? "users other than root can change this program, so nmd doesn't run it" : strerror(-r));
}

/* Finds the program in the configured directory, or returns the configured path itself. */
static int find_configured(const char *configured, char **ret)
{
    struct stat st;

    *ret = stat(configured, &st) == 0 && S_ISDIR(st.st_mode) ? nm_strdup_printf("%s/" NAME, configured)
                                                             : strdup(configured);
    return *ret ? 0 : -ENOMEM;
}

static int find_default(char **ret)
{
    static const char *const paths[] = {"/usr/bin/" NAME, "/bin/" NAME, "/usr/local/nvidia/bin/" NAME};
    size_t i = 0;

    while (i < NM_ARRAY_SIZE(paths) - 1 && access(paths[i], F_OK) < 0)
        i++;
    *ret = strdup(paths[i]);
    return *ret ? 0 : -ENOMEM;
}

int nm_yarn_gpu_discovery_path(const struct nm_yarn_gpu_settings *s, char **ret, char **ret_message)
{
    _cleanup_free_ char *path = NULL;
    int r = *s->executables ? find_configured(s->executables, &path) : find_default(&path);

    if (r == 0 && *path != '/')
        return nm_fail(ret_message, -EINVAL, PROPERTY " = '%.100s': must be an absolute path", path);
    if (r == 0)
        r = check(path, ret_message);
    if (r == 0)
        *ret = STEAL_PTR(path);
    return r;
}

/* ---- runs --------------------------------------------------------------------------------- */

static void schedule(struct nm_yarn_gpu_discovery *d)
{
    if (!nm_yarn_gpu_discovery_is_waiting(d))
        return;
    (void)sd_event_source_set_time_relative(d->timer, RETRY_USEC);
    (void)sd_event_source_set_enabled(d->timer, SD_EVENT_ONESHOT);
}

nm_printf(2, 3) static void fail_run(struct nm_yarn_gpu_discovery *d, const char *format, ...)
{
    char text[TROUBLE_SIZE];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    (void)nm_yarn_conf_printable(text, d->trouble, sizeof d->trouble);
    d->n_errors++;
    schedule(d);
    d->on_change(d->userdata);
}

static void on_line(const char *line, void *userdata)
{
    struct nm_yarn_gpu_discovery *d = userdata;

    if (!d->report)
        return;
    nm_yarn_gpu_report_add(d->report, line, strlen(line));
    nm_yarn_gpu_report_add(d->report, "\n", 1);
}

/* Keeps the GPUs that container-executor.cfg allows. */
static void keep_allowed(struct nm_yarn_gpu_discovery *d)
{
    size_t n = 0;

    for (size_t i = 0; i < d->n; i++)
        if (d->settings->minors >> d->list[i].minor & 1)
            d->list[n++] = d->list[i];
    d->n = n;
}

static void take_report(struct nm_yarn_gpu_discovery *d)
{
    const char *why = strerror(ENOMEM);
    int r = d->report ? nm_yarn_gpu_report_end(d->report, d->list, &d->n, &why) : -ENOMEM;

    if (r < 0) {
        fail_run(d, "the report of %s can't be read: %s", d->path, why);
        return;
    }
    keep_allowed(d);
    if (d->n == 0) {
        fail_run(d, "%s reports no GPU%s", d->path,
                 ~d->settings->minors ? " with a minor number that container-executor.cfg allows" : "");
        return;
    }
    d->has_list = true;
    d->trouble[0] = '\0';
    d->on_change(d->userdata);
}

static void on_verdict(const struct nm_script_verdict *v, void *userdata)
{
    struct nm_yarn_gpu_discovery *d = userdata;

    if (v->timed_out) {
        if (!v->has_ended)
            fail_run(d, "%s did not end in time", d->path);
    } else if (v->is_cut)
        fail_run(d, "%s prints more than %u KiB", d->path, OUTPUT_MAX / 1024);
    else if (v->exit_signal)
        fail_run(d, "%s was killed by signal %d", d->path, v->exit_signal);
    else if (v->exit_code != 0)
        fail_run(d, "%s exited with status %d", d->path, v->exit_code);
    else
        take_report(d);
}

static void run(struct nm_yarn_gpu_discovery *d)
{
    static char *const args[] = {(char *)"-q", (char *)"-x", NULL};
    struct nm_admin_script_params params = {.args = args, .timeout_usec = d->settings->timeout_usec,
                                            .output_max = OUTPUT_MAX, .cb = on_verdict, .line_cb = on_line,
                                            .userdata = d};
    _cleanup_free_ char *message = NULL;
    int r;

    d->script = nm_admin_script_free(d->script);
    d->report = nm_yarn_gpu_report_free(d->report);
    free(STEAL_PTR(d->path));
    (void)nm_yarn_gpu_report_new(&d->report);
    r = nm_yarn_gpu_discovery_path(d->settings, &d->path, &message);
    params.path = d->path;
    if (r == 0)
        r = nm_admin_script_new(d->event, &params, &d->script);
    if (r < 0)
        fail_run(d, "%s", message ?: strerror(-r));
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct nm_yarn_gpu_discovery *d = userdata;

    (void)source, (void)usec;
    /* A program that hangs in the kernel survives its kill. A second one would hang as well. */
    if (d->script && nm_admin_script_is_running(d->script))
        schedule(d);
    else
        run(d);
    return 0;
}

/* ---- life cycle --------------------------------------------------------------------------- */

int nm_yarn_gpu_discovery_new(const struct nm_yarn_gpu_discovery_params *params, struct nm_yarn_gpu_discovery **ret)
{
    _cleanup_(nm_yarn_gpu_discovery_freep) struct nm_yarn_gpu_discovery *d = calloc(1, sizeof *d);
    int r;

    if (!d)
        return -ENOMEM;
    d->event = sd_event_ref(params->event);
    d->settings = params->settings;
    d->on_change = params->on_change;
    d->userdata = params->userdata;
    r = sd_event_add_time_relative(d->event, &d->timer, CLOCK_BOOTTIME, 0, 10 * NM_USEC_PER_MSEC, on_timer, d);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(d);
    return 0;
}

struct nm_yarn_gpu_discovery *nm_yarn_gpu_discovery_free(struct nm_yarn_gpu_discovery *d)
{
    if (!d)
        return NULL;
    nm_admin_script_free(d->script);
    nm_yarn_gpu_report_free(d->report);
    sd_event_source_disable_unref(d->timer);
    sd_event_unref(d->event);
    free(d->path);
    free(d);
    return NULL;
}

bool nm_yarn_gpu_discovery_get(const struct nm_yarn_gpu_discovery *d, const struct nm_yarn_gpu **ret_list,
                               size_t *ret_n)
{
    *ret_list = d->list;
    *ret_n = d->has_list ? d->n : 0;
    return d->has_list;
}

bool nm_yarn_gpu_discovery_is_waiting(const struct nm_yarn_gpu_discovery *d)
{
    return !d->has_list && (d->settings->max_errors < 0 || d->n_errors < NM_MAX(d->settings->max_errors, INT64_C(1)));
}

const char *nm_yarn_gpu_discovery_trouble(const struct nm_yarn_gpu_discovery *d)
{
    return d->trouble;
}
