/* SPDX-License-Identifier: Apache-2.0 */

/* See aux-host.h. */

#include "yarn/launch/aux-host.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <syslog.h>

#include "util/clock.h"
#include "util/fileio.h"
#include "util/json-text.h"
#include "yarn/launch/aux-apps.h"
#include "yarn/launch/aux-command.h"
#include "yarn/launch/aux-dirs.h"
#include "yarn/launch/shuffle-process.h"

#define NAME "the process of the auxiliary services"
#define HELPER "aux"
#define AGAIN_MSEC 200 /* pause between two attempts at the start of nmd */
#define RETRY_MIN_USEC (1 * NM_USEC_PER_SEC)
#define RETRY_MAX_USEC (60 * NM_USEC_PER_SEC)
#define WELL_USEC (60 * NM_USEC_PER_SEC) /* if a process has run for this time, the next start isn't delayed */
#define MOST_FILES 65536u
#define NICE 10 /* nice value if the process can't have its own CPU weight */
#define WORDS_SIZE 700
#define ENDED_MAX 4096u /* applications whose end the services haven't been told yet */

struct metadata {
    uint8_t *data; /* NULL: none */
    size_t size;
};

struct container {
    TAILQ_ENTRY(container) link;
    char *id, *user;
    int64_t memory_mib;
    int32_t vcores;
    bool is_master;
};

TAILQ_HEAD(container_list, container);

struct nm_yarn_aux_host {
    struct nm_yarn_aux_host_params params;
    struct nm_yarn_aux_dirs dirs;
    struct nm_yarn_aux_command command;
    struct nm_yarn_aux_apps apps;
    struct container_list containers;
    struct metadata *metadata; /* one for each of settings->aux.names */
    struct nm_yarn_shuffle_process *process; /* NULL: the process has ended, and the timer will start it again */
    sd_event_source *timer;
    uint64_t started_usec, retry_usec;
    uint64_t restarts;
    bool is_running, was_running, has_weight;
    char words[WORDS_SIZE]; /* why the services could not be started, in their own words; "": not known */
    char trouble[WORDS_SIZE]; /* why the last process has ended; "": none has */
};

nm_printf(3, 4) static void report(struct nm_yarn_aux_host *h, int level, const char *format, ...)
{
    char sentence[WORDS_SIZE + 300];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(sentence, sizeof sentence, format, ap);
    va_end(ap);
    h->params.on_event(level, sentence, h->params.userdata);
}

/* ---- cgroup ------------------------------------------------------------------------------- */

static void on_moved(int result, const char *message, void *userdata)
{
    struct nm_yarn_aux_host *h = userdata;
    char sentence[500];

    if (result >= 0 || result == -ESRCH || !h->process) /* on_ended() handles the end of the process */
        return;
    (void)nm_yarn_shuffle_process_set_nice(h->process, NICE);
    (void)snprintf(sentence, sizeof sentence, "can't move " NAME " to a cgroup of its own (%s); only its heap is "
                   "limited, and it runs at nice 10", message ?: strerror(-result));
    h->params.report_cb(LOG_WARNING, sentence);
}

/* Limits the memory from the start. What a JVM uses before it is moved would count for nmd. Unlike that of nm-shuffle,
 * its sockets are not subject to the address rules of nmd.service. */
static void move_to_cgroup(struct nm_yarn_aux_host *h)
{
    int r;

    if (!h->has_weight)
        return;
    r = nm_manager_attach_limited_helper(h->params.manager, HELPER, nm_yarn_shuffle_process_pid(h->process),
                                         (uint64_t)h->params.settings->aux.memory_mib * NM_MIB, on_moved, h);
    if (r < 0)
        on_moved(r, NULL, h);
}

/* ---- input of the process ----------------------------------------------------------------- */

/* Sends an object if the services are running, and releases it. If sending fails, the process is killed, and the next
 * one gets everything. */
static void send_object(struct nm_yarn_aux_host *h, json_t *o)
{
    char *text = h->is_running && h->process ? nm_json_text(o, JSON_COMPACT) : NULL;

    if (text) {
        (void)nm_yarn_shuffle_process_send(h->process, text);
        explicit_bzero(text, strlen(text));
    }
    free(text);
    json_decref(o);
}

static void send_container(struct nm_yarn_aux_host *h, const char *request, const struct container *c)
{
    send_object(h, json_pack("{s:{s:s, s:s, s:I, s:i, s:b}}", request, "container", c->id, "user", c->user,
                             "memory_mb", (json_int_t)c->memory_mib, "vcores", (int)c->vcores, "master",
                             (int)c->is_master));
}

static void send_data(struct nm_yarn_aux_host *h, const struct nm_yarn_aux_app *app, const char *service)
{
    send_object(h, json_pack("{s:{s:s, s:s, s:s, s:O}}", "application_init", "application", app->application, "user",
                             app->user, "service", service, "data", json_object_get(app->data, service)));
}

static void send_end(struct nm_yarn_aux_host *h, const struct nm_yarn_aux_app *app)
{
    send_object(h, json_pack("{s:{s:s}}", "application_stop", "application", app->application));
}

/* Sends everything to a new process. The services have recovered what they know from their own directories. */
static void send_all(struct nm_yarn_aux_host *h)
{
    const struct nm_yarn_aux_app *app;
    const struct container *c;
    const char *service;
    json_t *data;

    TAILQ_FOREACH(app, &h->apps.list, link) {
        if (app->ended)
            send_end(h, app);
        else
            json_object_foreach(app->data, service, data)
                send_data(h, app, service);
    }
    TAILQ_FOREACH(c, &h->containers, link)
        send_container(h, "container_init", c);
}

/* ---- output of the process ---------------------------------------------------------------- */

/* Returns the names of the services, for messages. */
static const char *names_of(const struct nm_yarn_aux_host *h, char *buf, size_t size)
{
    char *const *names = h->params.settings->aux.names;
    size_t n = 0;

    buf[0] = '\0';
    for (size_t i = 0; names[i] && n < size; i++)
        n += (size_t)snprintf(buf + n, size - n, "%s%s", i > 0 ? ", " : "", names[i]);
    return buf;
}

static void keep_metadata(struct nm_yarn_aux_host *h, const char *service, const char *hex)
{
    char *const *names = h->params.settings->aux.names;
    uint8_t *data;
    size_t size;

    if (strlen(hex) > (size_t)2 * NM_YARN_AUX_METADATA_MAX || nm_yarn_aux_unhex(hex, &data, &size) < 0)
        return;
    for (size_t i = 0; names[i]; i++)
        if (nm_streq(names[i], service)) {
            free(h->metadata[i].data);
            h->metadata[i] = (struct metadata){data, size};
            return;
        }
    free(data);
}

static void forget_application(struct nm_yarn_aux_host *h, const char *application)
{
    struct nm_yarn_aux_app *app = nm_yarn_aux_apps_find(&h->apps, application);

    if (app && app->ended)
        nm_yarn_aux_apps_remove(&h->apps, app);
}

static void on_other(const json_t *line, void *userdata)
{
    const json_t *metadata = json_object_get(line, "metadata");
    const char *service = json_string_value(json_object_get(metadata, "service")),
               *data = json_string_value(json_object_get(metadata, "data")),
               *words = json_string_value(json_object_get(line, "failed")),
               *stopped = json_string_value(json_object_get(line, "stopped"));
    struct nm_yarn_aux_host *h = userdata;

    if (service && data)
        keep_metadata(h, service, data);
    if (words)
        (void)snprintf(h->words, sizeof h->words, "%s", words);
    if (stopped)
        forget_application(h, stopped);
}

static void on_listening(uint16_t port, void *userdata)
{
    struct nm_yarn_aux_host *h = userdata;
    char names[200];

    (void)port; /* each service has ports of its own */
    h->is_running = h->was_running = true;
    report(h, LOG_NOTICE, "the auxiliary services %s are running, in process %d", names_of(h, names, sizeof names),
           (int)nm_yarn_shuffle_process_pid(h->process));
    send_all(h);
}

static void on_refused(const char *error, void *userdata)
{
    struct nm_yarn_aux_host *h = userdata;
    char sentence[500];

    (void)snprintf(sentence, sizeof sentence, NAME " refused its input: %.400s", error);
    h->params.report_cb(LOG_WARNING, sentence);
}

static void on_counted(const struct nm_yarn_shuffle_figures *figures, void *userdata)
{
    (void)figures, (void)userdata; /* the process is never asked for figures */
}

/* ---- process ------------------------------------------------------------------------------ */

static void on_ended(const char *why, void *userdata);

static int start(struct nm_yarn_aux_host *h)
{
    const struct nm_yarn_shuffle_process_params p = {
        .event = h->params.event,
        .name = NAME,
        .path = h->command.java,
        .program_fd = -EBADF,
        .argv = (const char *const *)h->command.argv,
        .env = (const char *const *)h->command.env,
        .as = h->dirs.changes_user ? &h->dirs.as : NULL,
        .most_files = MOST_FILES,
        .nice = h->has_weight ? 0 : NICE,
        .listening = on_listening,
        .refused = on_refused,
        .counted = on_counted,
        .ended = on_ended,
        .other = on_other,
        .userdata = h,
    };
    int r;

    h->words[0] = '\0';
    h->started_usec = nm_now_usec();
    r = nm_yarn_shuffle_process_new(&p, &h->process);
    if (r >= 0)
        move_to_cgroup(h);
    return r;
}

/* Schedules another start. The delay grows with each failure. */
static void start_later(struct nm_yarn_aux_host *h)
{
    h->retry_usec = nm_now_usec() - h->started_usec >= WELL_USEC ? RETRY_MIN_USEC
                                                                 : NM_MIN(2 * h->retry_usec, RETRY_MAX_USEC);
    h->retry_usec = NM_MAX(h->retry_usec, RETRY_MIN_USEC);
    (void)sd_event_source_set_time(h->timer, nm_now_usec() + h->retry_usec);
    (void)sd_event_source_set_enabled(h->timer, SD_EVENT_ONESHOT);
}

static void on_ended(const char *why, void *userdata)
{
    struct nm_yarn_aux_host *h = userdata;
    char names[200];

    h->process = nm_yarn_shuffle_process_free(h->process);
    h->is_running = false;
    h->restarts++;
    (void)snprintf(h->trouble, sizeof h->trouble, "%s", *h->words ? h->words : why);
    start_later(h);
    report(h, LOG_WARNING, "the auxiliary services %s are away: %s; nmd starts them again in %" PRIu64 " s",
           names_of(h, names, sizeof names), h->trouble, h->retry_usec / NM_USEC_PER_SEC);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct nm_yarn_aux_host *h = userdata;

    (void)source, (void)usec;
    if (!h->process && start(h) < 0)
        start_later(h);
    return 0;
}

/* Returns whether the start may succeed soon: the process of an nmd that has just ended may still hold a port. */
static bool is_transient(const char *words)
{
    return strstr(words, "ddress already in use");
}

int nm_yarn_aux_host_wait(struct nm_yarn_aux_host *h, char **ret_message)
{
    const struct timespec pause = {.tv_nsec = AGAIN_MSEC * 1000 * 1000};
    const uint64_t end_usec = nm_now_usec() + h->params.settings->aux.start_usec;
    char why[WORDS_SIZE] = "it has ended without a message", names[200];
    int r;

    for (bool is_said = false;; is_said = true) { /* each attempt takes at least the pause */
        nm_yarn_shuffle_process_wait(h->process, nm_sub_u64(end_usec, nm_now_usec()));
        if (h->is_running)
            return 0;
        if (nm_now_usec() >= end_usec)
            break;
        nm_yarn_shuffle_process_last(h->process, why, sizeof why);
        h->process = nm_yarn_shuffle_process_free(h->process);
        if (!is_transient(h->words))
            return nm_fail(ret_message, -ENOEXEC, "the auxiliary services %s can't be started: %s; their log is "
                           "%s/log/aux-host.log", names_of(h, names, sizeof names), *h->words ? h->words : why,
                           h->dirs.path);
        if (!is_said)
            report(h, LOG_NOTICE, "the auxiliary services %s can't be started yet: %s; nmd tries again",
                   names_of(h, names, sizeof names), h->words);
        (void)nanosleep(&pause, NULL);
        if ((r = start(h)) < 0)
            return nm_fail(ret_message, r, "can't start %s: %s", h->command.java, strerror(-r));
    }
    report(h, LOG_WARNING, "the auxiliary services %s aren't running yet; containers that need them are refused until "
           "they are", names_of(h, names, sizeof names));
    return 0;
}

/* ---- containers and applications ---------------------------------------------------------- */

static struct container *find_container(const struct nm_yarn_aux_host *h, const char *id)
{
    struct container *c;

    TAILQ_FOREACH(c, &h->containers, link)
        if (nm_streq(c->id, id))
            return c;
    return NULL;
}

static void free_container(struct container *c)
{
    free(c->id);
    free(c->user);
    free(c);
}

void nm_yarn_aux_host_begin_container(struct nm_yarn_aux_host *h, const struct nm_yarn_aux_container *from)
{
    struct container *c = find_container(h, from->container) ? NULL : calloc(1, sizeof *c);
    struct nm_yarn_aux_app *app;

    if (nm_yarn_aux_apps_add(&h->apps, from->application, from->submitter, NULL, (struct nm_bytes){}, &app) < 0 || !c) {
        free(c);
        return;
    }
    c->id = strdup(from->container);
    c->user = strdup(from->submitter);
    c->memory_mib = from->memory_mib;
    c->vcores = from->vcores;
    c->is_master = from->is_master;
    if (!c->id || !c->user) {
        free_container(c);
        return;
    }
    TAILQ_INSERT_TAIL(&h->containers, c, link);
    send_container(h, "container_init", c);
}

void nm_yarn_aux_host_add_data(struct nm_yarn_aux_host *h, const char *application, const char *submitter,
                               const char *service, struct nm_bytes data)
{
    struct nm_yarn_aux_app *app;

    /* As in Hadoop, the services get the data with each container. */
    if (nm_yarn_aux_apps_add(&h->apps, application, submitter, service, data, &app) >= 0)
        send_data(h, app, service);
}

void nm_yarn_aux_host_end_container(struct nm_yarn_aux_host *h, const char *container)
{
    struct container *c = find_container(h, container);

    if (!c)
        return;
    send_container(h, "container_stop", c);
    TAILQ_REMOVE(&h->containers, c, link);
    free_container(c);
}

/* Forgets the oldest ended applications if the services don't come back for a long time. */
static void limit_ended(struct nm_yarn_aux_host *h)
{
    struct nm_yarn_aux_app *app, *oldest = NULL;
    unsigned n = 0;

    TAILQ_FOREACH(app, &h->apps.list, link) {
        n += app->ended;
        oldest = oldest ?: app->ended ? app : NULL;
    }
    if (n > ENDED_MAX)
        nm_yarn_aux_apps_remove(&h->apps, oldest);
}

void nm_yarn_aux_host_end_application(struct nm_yarn_aux_host *h, const char *application)
{
    struct nm_yarn_aux_app *app = nm_yarn_aux_apps_find(&h->apps, application);

    if (!app || app->ended)
        return;
    app->ended = true;
    send_end(h, app);
    limit_ended(h);
}

void nm_yarn_aux_host_end_strays(struct nm_yarn_aux_host *h, bool (*is_here)(void *userdata, const char *application),
                                 void *userdata)
{
    struct nm_yarn_aux_app *app;

    TAILQ_FOREACH(app, &h->apps.list, link)
        if (!app->ended && !is_here(userdata, app->application)) {
            app->ended = true;
            send_end(h, app);
        }
}

/* ---- figures ------------------------------------------------------------------------------ */

bool nm_yarn_aux_host_has(const struct nm_yarn_aux_host *h, const char *service, bool *ret_was_running)
{
    *ret_was_running = h->was_running;
    return nm_yarn_aux_is_hosted(h->params.settings, service);
}

size_t nm_yarn_aux_host_count(const struct nm_yarn_aux_host *h)
{
    return NM_STRV_LENGTH(h->params.settings->aux.names);
}

bool nm_yarn_aux_host_metadata(const struct nm_yarn_aux_host *h, size_t i, const char **ret_name, struct nm_bytes *ret)
{
    assert(i < nm_yarn_aux_host_count(h));
    *ret_name = h->params.settings->aux.names[i];
    *ret = (struct nm_bytes){h->metadata[i].data, h->metadata[i].size};
    return h->metadata[i].data;
}

/* Returns the resident memory of the process, or 0. */
static uint64_t read_memory(pid_t pid)
{
    char path[40], text[200];
    unsigned long long size, resident;

    (void)snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    if (pid <= 0 || nm_read_file_at(AT_FDCWD, path, text, sizeof text, NULL) < 0 ||
        sscanf(text, "%llu %llu", &size, &resident) != 2)
        return 0;
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static json_t *list_services(const struct nm_yarn_aux_host *h)
{
    char *const *names = h->params.settings->aux.names;
    json_t *list = json_array();

    for (size_t i = 0; list && names[i]; i++)
        if (json_array_append_new(list, json_pack("{s:s, s:b}", "name", names[i], "metadata",
                                                  (int)(h->metadata[i].data != NULL))) < 0) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static pid_t pid_of(const struct nm_yarn_aux_host *h)
{
    return h->process ? nm_yarn_shuffle_process_pid(h->process) : 0;
}

void nm_yarn_aux_host_get_figures(const struct nm_yarn_aux_host *h, struct nm_yarn_aux_host_figures *ret)
{
    const struct nm_yarn_aux_app *app;

    *ret = (struct nm_yarn_aux_host_figures){
        .is_running = h->is_running, .restarts = h->restarts, .memory_bytes = read_memory(pid_of(h))};
    TAILQ_FOREACH(app, &h->apps.list, link)
        ret->applications += !app->ended;
}

json_t *nm_yarn_aux_host_to_json(const struct nm_yarn_aux_host *h)
{
    const struct nm_yarn_aux_settings *s = &h->params.settings->aux;
    struct nm_yarn_aux_host_figures figures;

    nm_yarn_aux_host_get_figures(h, &figures);
    return json_pack("{s:s, s:o, s:I, s:I, s:I, s:I, s:I, s:I, s:s?}", "state",
                     h->is_running ? "running" : h->process ? "starting" : "away", "services", list_services(h),
                     "applications", (json_int_t)figures.applications, "pid", (json_int_t)pid_of(h), "restarts",
                     (json_int_t)h->restarts, "memory_bytes", (json_int_t)figures.memory_bytes, "memory_max_bytes",
                     (json_int_t)(h->has_weight ? s->memory_mib * (int64_t)NM_MIB : 0), "heap_max_bytes",
                     (json_int_t)(s->heap_mib * (int64_t)NM_MIB), "trouble",
                     *h->trouble ? h->trouble : NULL);
}

/* ---- creation and end --------------------------------------------------------------------- */

bool nm_yarn_aux_host_is_wanted(const struct nm_yarn_settings *s)
{
    return s->aux.names && s->aux.names[0];
}

int nm_yarn_aux_host_check(const struct nm_yarn_settings *s, char **ret_message)
{
    struct nm_yarn_aux_command command = {};
    struct nm_identity account;
    bool changes;
    int r = nm_yarn_aux_find_account(&account, &changes, ret_message);

    if (r >= 0)
        r = nm_yarn_aux_command_make(s, "", &command, ret_message);
    nm_yarn_aux_command_done(&command);
    return r;
}

static int open_state(struct nm_yarn_aux_host *h)
{
    _cleanup_free_ char *path = nm_strdup_printf("%s/aux", h->params.state_dir);
    int r = path ? nm_mkdir_p(path, 0700) : -ENOMEM;

    return r < 0 ? r : nm_yarn_aux_apps_open(path, &h->apps);
}

static int prepare(struct nm_yarn_aux_host *h, char **ret_message)
{
    const struct nm_yarn_settings *s = h->params.settings;
    int r = open_state(h);

    h->metadata = calloc(nm_yarn_aux_host_count(h) + 1, sizeof *h->metadata);
    if (r >= 0 && !h->metadata)
        r = -ENOMEM;
    if (r >= 0)
        r = nm_yarn_aux_dirs_make(s, h->params.state_dir, &h->dirs, ret_message);
    if (r >= 0)
        r = nm_yarn_aux_command_make(s, h->dirs.path, &h->command, ret_message);
    if (r >= 0)
        r = sd_event_add_time(h->params.event, &h->timer, CLOCK_BOOTTIME, UINT64_MAX, 0, on_timer, h);
    return r < 0 ? r : sd_event_source_set_enabled(h->timer, SD_EVENT_OFF);
}

int nm_yarn_aux_host_new(const struct nm_yarn_aux_host_params *params, struct nm_yarn_aux_host **ret,
                         char **ret_message)
{
    _cleanup_(nm_yarn_aux_host_freep) struct nm_yarn_aux_host *h = calloc(1, sizeof *h);
    int r;

    assert(params->report_cb && params->on_event);
    if (!h)
        return -ENOMEM;
    h->params = *params;
    h->apps.state_fd = -EBADF;
    TAILQ_INIT(&h->apps.list);
    TAILQ_INIT(&h->containers);
    r = prepare(h, ret_message);
    if (r < 0)
        return r;
    h->has_weight = params->manager && nm_manager_can_attach_helper(params->manager);
    if (!h->has_weight)
        params->report_cb(LOG_NOTICE, NAME " runs at nice 10, and only its heap is limited, because this host has no "
                          "cgroups for it");
    r = start(h);
    if (r < 0)
        return nm_fail(ret_message, r, "can't start %s: %s", h->command.java, strerror(-r));
    *ret = STEAL_PTR(h);
    return 0;
}

struct nm_yarn_aux_host *nm_yarn_aux_host_free(struct nm_yarn_aux_host *h)
{
    struct container *c;

    if (!h)
        return NULL;
    (void)nm_yarn_shuffle_process_free(h->process);
    (void)sd_event_source_disable_unref(h->timer);
    while ((c = TAILQ_FIRST(&h->containers))) {
        TAILQ_REMOVE(&h->containers, c, link);
        free_container(c);
    }
    for (size_t i = 0; h->metadata && i < nm_yarn_aux_host_count(h); i++)
        free(h->metadata[i].data);
    free(h->metadata);
    nm_yarn_aux_apps_done(&h->apps);
    nm_yarn_aux_command_done(&h->command);
    nm_yarn_aux_dirs_done(&h->dirs);
    free(h);
    return NULL;
}
