/* SPDX-License-Identifier: Apache-2.0 */

/* See provider.h. One timer starts the runs. A run of a script collects its lines in `output`, which becomes the set
 * when the script has ended well. The files are read by a child process, because they may be large or on a slow file
 * system. The child prints the set in the format of a script. */

#include "yarn/labels/provider.h"

#include <assert.h>
#include <strings.h>
#include <time.h>

#include "agent/admin-script.h"

/* Shortest time between two runs, so that a mistaken interval doesn't keep the node busy. */
#define INTERVAL_MIN_USEC NM_USEC_PER_SEC
#define TROUBLE_SIZE 300
#define FAILED "failed: " /* begins the line of a child that can't read the files */
#define READ_TIMEOUT_USEC (60 * NM_USEC_PER_SEC)

struct nm_yarn_provider {
    enum nm_yarn_descriptor_kind kind;
    const struct nm_yarn_provider_settings *settings;
    const char *dir;
    void (*on_change)(void *userdata);
    void *userdata;
    sd_event *event;
    sd_event_source *timer;
    struct nm_admin_script *script;
    bool of_script, has_set, waits;
    bool is_invalid; /* the output of the run in progress is invalid */
    struct nm_yarn_descriptors set;
    struct nm_yarn_descriptors output; /* of the run in progress */
    char *invalid;                     /* why the output is invalid; NULL: no memory for the reason */
    char trouble[TROUBLE_SIZE];
};

static const struct {
    const char *provider, *value, *path, *interval;
} names[NM_YARN_N_DESCRIPTOR_KINDS] = {
    [NM_YARN_LABEL] = {NM_YARN_LABELS_PREFIX "provider", NM_YARN_LABELS_VALUE,
                       NM_YARN_LABELS_PREFIX "provider.script.path",
                       NM_YARN_LABELS_PREFIX "provider.fetch-interval-ms"},
    [NM_YARN_ATTRIBUTE] = {NM_YARN_ATTRIBUTES_PREFIX "provider", NM_YARN_ATTRIBUTES_VALUE,
                           NM_YARN_ATTRIBUTES_PREFIX "provider.script.path",
                           NM_YARN_ATTRIBUTES_PREFIX "provider.fetch-interval-ms"},
};

/* ---- settings ----------------------------------------------------------------------------- */

const struct nm_yarn_provider_settings *nm_yarn_provider_settings_of(enum nm_yarn_descriptor_kind kind,
                                                                     const struct nm_yarn_settings *all)
{
    return kind == NM_YARN_LABEL ? &all->labels : &all->attributes;
}

bool nm_yarn_provider_is_wanted(const struct nm_yarn_provider_settings *s)
{
    return *s->provider;
}

static bool is_script(const struct nm_yarn_provider_settings *s)
{
    return strcasecmp(s->provider, "script") == 0;
}

/* Refuses the value of a property. */
static int refuse(const struct nm_yarn_settings *all, const char *name, const char *value, int error, const char *why,
                  char **ret_message)
{
    char file[200], shown[120], reason[300];

    return nm_fail(ret_message, error, "%s: %s = '%s': %s",
                   nm_yarn_conf_printable(nm_yarn_settings_file(all, name) ?: "by default", file, sizeof file), name,
                   nm_yarn_conf_printable(value, shown, sizeof shown),
                   nm_yarn_conf_printable(why, reason, sizeof reason));
}

static int check_script(enum nm_yarn_descriptor_kind kind, const struct nm_yarn_settings *all, char **ret_message)
{
    const struct nm_yarn_provider_settings *s = nm_yarn_provider_settings_of(kind, all);
    int r = nm_admin_script_check(s->script);

    if (r >= 0 || r == -ENOMEM)
        return NM_MIN(r, 0);
    return refuse(all, names[kind].path, s->script, r,
                  r == -EPERM ? "users other than root can change this script, so nmd doesn't run it" : strerror(-r),
                  ret_message);
}

static int check_value(enum nm_yarn_descriptor_kind kind, const struct nm_yarn_settings *all, char **ret_message)
{
    const char *value = nm_yarn_provider_settings_of(kind, all)->value;
    struct nm_yarn_descriptors set = {};
    _cleanup_free_ char *why = NULL;
    int r = nm_yarn_descriptors_read(kind, value, &set, &why);

    nm_yarn_descriptors_done(&set);
    return r != -EINVAL ? r : refuse(all, names[kind].value, value, r, why ?: "invalid", ret_message);
}

int nm_yarn_provider_check_files(enum nm_yarn_descriptor_kind kind, const struct nm_yarn_settings *all,
                                 char **ret_message)
{
    const struct nm_yarn_provider_settings *s = nm_yarn_provider_settings_of(kind, all);

    if (!nm_yarn_provider_is_wanted(s))
        return 0;
    if (s->interval_msec == 0)
        return refuse(all, names[kind].interval, "0", -EINVAL, "must be positive, or -1 for one run only", ret_message);
    if (is_script(s))
        return *s->script == '/' ? 0
                                 : refuse(all, names[kind].path, s->script, -ENOENT,
                                          "must be the absolute path of a script, because the provider is 'script'",
                                          ret_message);
    if (strcasecmp(s->provider, "config") == 0)
        return check_value(kind, all, ret_message);
    return refuse(all, names[kind].provider, s->provider, -EOPNOTSUPP,
                  "must be config or script; nmd can't run a provider written in Java", ret_message);
}

int nm_yarn_provider_check(enum nm_yarn_descriptor_kind kind, const struct nm_yarn_settings *all, char **ret_message)
{
    int r = nm_yarn_provider_check_files(kind, all, ret_message);

    return r == 0 && is_script(nm_yarn_provider_settings_of(kind, all)) ? check_script(kind, all, ret_message) : r;
}

/* ---- runs --------------------------------------------------------------------------------- */

/* Ends a run. set: its set, which is taken over; NULL: the run has failed, and `trouble` says why. */
static void end_run(struct nm_yarn_provider *p, struct nm_yarn_descriptors *set, const char *trouble)
{
    const bool is_new = set && (!p->has_set || !nm_yarn_descriptors_equal(set, &p->set));
    const bool has_changed = is_new || p->waits || !nm_streq(trouble, p->trouble);

    if (is_new) {
        nm_yarn_descriptors_done(&p->set);
        p->set = *set;
        *set = (struct nm_yarn_descriptors){};
        p->has_set = true;
    }
    p->waits = false;
    (void)snprintf(p->trouble, sizeof p->trouble, "%s", trouble);
    if (has_changed && p->on_change)
        p->on_change(p->userdata);
}

nm_printf(2, 3) static void fail_run(struct nm_yarn_provider *p, const char *format, ...)
{
    char text[TROUBLE_SIZE], clean[TROUBLE_SIZE];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    end_run(p, NULL, nm_yarn_conf_printable(text, clean, sizeof clean));
}

/* Keeps the child's reason why it can't read the files. */
static void keep_reason(struct nm_yarn_provider *p, const char *reason)
{
    p->is_invalid = true;
    free(p->invalid);
    p->invalid = strdup(reason);
}

static void on_line(const char *line, void *userdata)
{
    struct nm_yarn_provider *p = userdata;

    if (p->is_invalid)
        return;
    if (!p->of_script && strncmp(line, FAILED, strlen(FAILED)) == 0)
        keep_reason(p, line + strlen(FAILED));
    else
        p->is_invalid = nm_yarn_descriptors_add_line(p->kind, line, &p->output, &p->invalid) < 0;
}

static void begin_output(struct nm_yarn_provider *p)
{
    nm_yarn_descriptors_done(&p->output);
    free(STEAL_PTR(p->invalid));
    p->is_invalid = false;
}

/* Returns the subject of messages about a run. */
static const char *subject(const struct nm_yarn_provider *p, char *buf, size_t size)
{
    if (p->of_script)
        (void)snprintf(buf, size, "the script %s", p->settings->script);
    else
        (void)snprintf(buf, size, "the child process that reads the cluster's files");
    return buf;
}

static void on_verdict(const struct nm_script_verdict *v, void *userdata)
{
    struct nm_yarn_provider *p = userdata;
    char buf[TROUBLE_SIZE];
    const char *who = subject(p, buf, sizeof buf);

    if (v->timed_out) {
        if (!v->has_ended)
            fail_run(p, "%s did not end in time", who);
        return;
    }
    if (v->is_cut)
        fail_run(p, "%s prints more than %u KiB", who, NM_ADMIN_SCRIPT_OUTPUT_MAX / 1024);
    else if (!p->of_script && p->is_invalid)
        fail_run(p, "%s", p->invalid ?: strerror(ENOMEM));
    else if (v->exit_signal)
        fail_run(p, "%s was killed by signal %d", who, v->exit_signal);
    else if (v->exit_code != 0)
        fail_run(p, "%s exited with status %d", who, v->exit_code);
    else if (p->is_invalid || nm_yarn_descriptors_finish(p->kind, &p->output, &p->invalid) < 0)
        fail_run(p, "the output of %s is invalid: %s", who, p->invalid ?: strerror(ENOMEM));
    else
        end_run(p, &p->output, "");
    begin_output(p);
}

/* Starts the script or the child. */
static void run(struct nm_yarn_provider *p, const struct nm_admin_script_params *params)
{
    char buf[TROUBLE_SIZE];
    int r;

    if (p->script && nm_admin_script_is_running(p->script))
        return;
    p->script = nm_admin_script_free(p->script);
    begin_output(p);
    r = nm_admin_script_new(p->event, params, &p->script);
    if (r < 0)
        fail_run(p, "%s can't be run: %s", subject(p, buf, sizeof buf),
                 r == -EPERM ? "users other than root can change it" : strerror(-r));
}

static void run_script(struct nm_yarn_provider *p)
{
    run(p, &(struct nm_admin_script_params){.path = p->settings->script, .args = p->settings->script_args,
                                            .timeout_usec = (uint64_t)p->settings->timeout_msec * NM_USEC_PER_MSEC,
                                            .cb = on_verdict, .line_cb = on_line, .userdata = p});
}

static void take_value(struct nm_yarn_provider *p, const char *text)
{
    struct nm_yarn_descriptors set = {};
    _cleanup_free_ char *why = NULL;
    int r = nm_yarn_descriptors_read(p->kind, text, &set, &why);

    if (r < 0)
        fail_run(p, "%s: %s", names[p->kind].value, why ?: strerror(-r));
    else
        end_run(p, &set, "");
    nm_yarn_descriptors_done(&set);
}

/* Prints a set in the format of a script. */
static void print_set(enum nm_yarn_descriptor_kind kind, const struct nm_yarn_descriptors *set, FILE *out)
{
    for (size_t i = 0; i < set->n; i++) {
        if (kind == NM_YARN_LABEL)
            fprintf(out, "NODE_PARTITION:%s\n", set->items[i].name);
        else
            fprintf(out, "NODE_ATTRIBUTE:%s,STRING,%s\n", set->items[i].name, set->items[i].value);
    }
}

static int fail_read(FILE *out, const char *text)
{
    char clean[TROUBLE_SIZE];

    fprintf(out, FAILED "%s\n", nm_yarn_conf_printable(text, clean, sizeof clean));
    return EXIT_FAILURE;
}

static int print_value(const struct nm_yarn_provider *p, const char *text, FILE *out)
{
    struct nm_yarn_descriptors set = {};
    _cleanup_free_ char *why = NULL, *sentence = NULL;
    int r = nm_yarn_descriptors_read(p->kind, text, &set, &why);

    if (r < 0) {
        sentence = nm_strdup_printf("%s: %s", names[p->kind].value, why ?: strerror(-r));
        return fail_read(out, sentence ?: strerror(ENOMEM));
    }
    print_set(p->kind, &set, out);
    nm_yarn_descriptors_done(&set);
    return EXIT_SUCCESS;
}

/* Runs in the child. While an administrator replaces a file, the file may be missing. Its properties then have their
 * defaults, and the default of the set is the empty set. So a set only counts if the files still name the provider. */
static int read_files(FILE *out, void *userdata)
{
    const struct nm_yarn_provider *p = userdata;
    _cleanup_(nm_yarn_conf_freep) struct nm_yarn_conf *c = NULL;
    _cleanup_(nm_refusals_done) struct nm_refusals refusals = {};
    _cleanup_free_ char *message = NULL, *text = NULL;
    int r = nm_yarn_settings_new_conf(&c);

    if (r == 0)
        r = nm_yarn_conf_read_dir(c, p->dir, &refusals, &message);
    if (r == 0 && !refusals.text)
        r = nm_yarn_conf_expand_or_report(c, names[p->kind].value, &text, &message);
    if (r < 0 || refusals.text)
        return fail_read(out, message ?: refusals.text ?: strerror(-r));
    if (!nm_yarn_conf_find(c, names[p->kind].provider)->file) {
        message = nm_strdup_printf("the cluster's files no longer set %s", names[p->kind].provider);
        return fail_read(out, message ?: strerror(ENOMEM));
    }
    return print_value(p, text, out);
}

/* Reads the property again, as Hadoop's NodeManager does, so that a change of the file needs no restart. Other
 * properties keep their values. */
static void read_again(struct nm_yarn_provider *p)
{
    run(p, &(struct nm_admin_script_params){.function = read_files, .timeout_usec = READ_TIMEOUT_USEC, .cb = on_verdict,
                                            .line_cb = on_line, .userdata = p});
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct nm_yarn_provider *p = userdata;
    int r;

    (void)usec;
    if (p->of_script)
        run_script(p);
    else
        read_again(p);
    if (p->settings->interval_msec < 0)
        return 0;
    r = sd_event_source_set_time_relative(
        source, NM_MAX((uint64_t)p->settings->interval_msec * NM_USEC_PER_MSEC, INTERVAL_MIN_USEC));
    return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* ---- life cycle --------------------------------------------------------------------------- */

/* Makes the timer. The first run of a script begins in the next turn of the event loop. A configured set is known
 * already, and is read again after the interval. */
static int start(struct nm_yarn_provider *p)
{
    const int64_t interval_msec = p->settings->interval_msec;
    uint64_t first_usec = p->of_script ? 0 : NM_MAX((uint64_t)interval_msec * NM_USEC_PER_MSEC, INTERVAL_MIN_USEC);
    int r;

    if (!p->of_script && (interval_msec < 0 || !p->dir))
        return 0;
    r = sd_event_add_time_relative(p->event, &p->timer, CLOCK_BOOTTIME, first_usec, 10 * NM_USEC_PER_MSEC, on_timer, p);
    return NM_MIN(r, 0);
}

int nm_yarn_provider_new(const struct nm_yarn_provider_params *params, struct nm_yarn_provider **ret,
                         char **ret_message)
{
    _cleanup_(nm_yarn_provider_freep) struct nm_yarn_provider *p = NULL;
    int r = nm_yarn_provider_check(params->kind, params->settings, ret_message);

    if (r < 0)
        return r;
    p = calloc(1, sizeof *p);
    if (!p)
        return -ENOMEM;
    p->event = sd_event_ref(params->event);
    p->kind = params->kind;
    p->settings = nm_yarn_provider_settings_of(params->kind, params->settings);
    p->dir = params->settings->dir;
    p->of_script = is_script(p->settings);
    p->waits = true;
    if (!p->of_script)
        take_value(p, p->settings->value);
    p->on_change = params->on_change;
    p->userdata = params->userdata;
    r = start(p);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(p);
    return 0;
}

struct nm_yarn_provider *nm_yarn_provider_free(struct nm_yarn_provider *p)
{
    if (!p)
        return NULL;
    nm_admin_script_free(p->script);
    sd_event_source_disable_unref(p->timer);
    begin_output(p);
    nm_yarn_descriptors_done(&p->set);
    sd_event_unref(p->event);
    free(p);
    return NULL;
}

const struct nm_yarn_descriptors *nm_yarn_provider_get(const struct nm_yarn_provider *p)
{
    return p->has_set ? &p->set : NULL;
}

bool nm_yarn_provider_is_waiting(const struct nm_yarn_provider *p)
{
    return p->waits;
}

const char *nm_yarn_provider_trouble(const struct nm_yarn_provider *p)
{
    return p->trouble;
}

const char *nm_yarn_provider_name(const struct nm_yarn_provider *p)
{
    return p->of_script ? "script" : "config";
}
