/* SPDX-License-Identifier: Apache-2.0 */

/* See aux-server.h. */

#include "yarn/launch/aux-server.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <syslog.h>

#include "util/clock.h"
#include "util/fileio.h"
#include "util/parse.h"
#include "yarn/launch/reader-report.h"

/* Time limit for opening the port at the start of nmd. It is needed because the process of the previous nmd may still
 * be exiting and hold the port. */
#define BEGIN_USEC (5 * NM_USEC_PER_SEC)
#define BEGIN_PAUSE_MSEC 100
#define RETRY_MIN_USEC (100 * NM_USEC_PER_MSEC)
#define RETRY_MAX_USEC (30 * NM_USEC_PER_SEC)
#define WELL_USEC (60 * NM_USEC_PER_SEC) /* if a process has run for this time, the next start isn't delayed */
#define PORT_FILE "port"
/* Intervals between two requests for figures: for a minute after a caller wanted the figures, and later. */
#define COUNT_OFTEN_USEC (5 * NM_USEC_PER_SEC)
#define COUNT_SELDOM_USEC (60 * NM_USEC_PER_SEC)
#define COUNTS_OFTEN 12u
#define NICE 10 /* nice value if the process can't have its own CPU weight */

struct nm_yarn_aux_server {
    struct nm_yarn_aux_server_params params;
    struct nm_yarn_shuffle_process *process; /* NULL: the process has exited, and the timer will start it again */
    sd_event_source *timer;
    uint64_t started_usec, retry_usec;
    int program_fd;
    uint16_t port; /* 0: use any free port */
    bool is_listening, has_weight;
    sd_event_source *count_timer;
    unsigned counts_often; /* requests that are still made at the shorter interval */
    bool is_counting; /* the process hasn't answered the last request for figures yet */
    struct nm_yarn_shuffle_figures figures, former; /* of this process, and of all processes before it */
    struct nm_yarn_shuffle_usage top[NM_YARN_SHUFFLE_TOP_MAX];
    size_t n_top;
    struct nm_yarn_reader_report readers;
    uint64_t restarts, since_realtime_usec; /* see struct nm_yarn_aux_state */
    char trouble[400];
};

nm_printf(3, 4) static void log_message(struct nm_yarn_aux_server *s, int level, const char *format, ...)
{
    char sentence[500];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(sentence, sizeof sentence, format, ap);
    va_end(ap);
    if (s->params.report_cb)
        s->params.report_cb(level, sentence);
}

/* Reports an event of the service, which is also logged. */
nm_printf(3, 4) static void report_event(struct nm_yarn_aux_server *s, int level, const char *format, ...)
{
    char sentence[500];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(sentence, sizeof sentence, format, ap);
    va_end(ap);
    if (s->params.manager)
        nm_manager_report_event(s->params.manager, level, sentence);
    else
        log_message(s, level, "%s", sentence);
}

/* ---- CPU weight --------------------------------------------------------------------------- */

static void on_moved(int result, const char *message, void *userdata)
{
    struct nm_yarn_aux_server *s = userdata;
    int r;

    if (result >= 0 || result == -ESRCH || !s->process) /* on_ended() handles the end of the process */
        return;
    r = nm_yarn_shuffle_process_set_nice(s->process, NICE);
    log_message(s, LOG_WARNING, "can't move %s to a cgroup of its own (%s); %s%s", s->params.name,
                message ?: strerror(-result),
                r < 0 ? "it keeps nmd's CPU weight: " : "it runs at nice 10 instead", r < 0 ? strerror(-r) : "");
}

/* Moves the process to its own cgroup. This must happen when it is already listening. The address rules of
 * nmd.service (IPAddressAllow=) apply only to sockets that were made in the cgroup of nmd.service, and the listening
 * socket must be one of these. */
static void move_to_cgroup(struct nm_yarn_aux_server *s)
{
    int r;

    if (!s->has_weight)
        return;
    r = nm_manager_attach_helper(s->params.manager, s->params.helper, nm_yarn_shuffle_process_pid(s->process), on_moved,
                                 s);
    if (r < 0)
        on_moved(r, NULL, s);
}

/* ---- input of the process ------------------------------------------------------------------ */

void nm_yarn_aux_server_send(struct nm_yarn_aux_server *s, const char *line)
{
    if (s->process && s->is_listening)
        (void)nm_yarn_shuffle_process_send(s->process, line);
}

/* If a client connects before the owner has sent its lines, the process refuses the client, which retries. */
static void on_listening(uint16_t port, void *userdata)
{
    struct nm_yarn_aux_server *s = userdata;
    char text[16];

    s->port = port;
    s->is_listening = true;
    s->since_realtime_usec = nm_realtime_usec();
    if (s->restarts > 0)
        report_event(s, LOG_INFO, "%s listens at port %u again", s->params.name, (unsigned)port);
    (void)snprintf(text, sizeof text, "%u\n", port);
    (void)nm_write_file_atomic_at(s->params.state_fd, PORT_FILE, text, 0600);
    move_to_cgroup(s);
    s->params.listening(port, s->params.userdata);
}

static void on_refused(const char *error, void *userdata)
{
    struct nm_yarn_aux_server *s = userdata;

    s->is_counting = false; /* it may have been the request for figures, for lack of memory */
    log_message(s, LOG_WARNING, "%s refused its input: %s", s->params.name, error);
}

/* ---- figures ------------------------------------------------------------------------------ */

static void count(struct nm_yarn_aux_server *s)
{
    if (s->is_counting || !s->process || !s->is_listening)
        return;
    s->is_counting = true;
    nm_yarn_aux_server_send(s, "{\"count\": {}}");
}

static void on_listed(const struct nm_yarn_shuffle_usage *top, size_t n, void *userdata)
{
    struct nm_yarn_aux_server *s = userdata;

    (void)memcpy(s->top, top, n * sizeof *top);
    s->n_top = n;
}

static void on_counted(const struct nm_yarn_shuffle_figures *figures, void *userdata)
{
    struct nm_yarn_aux_server *s = userdata;
    char sentence[NM_YARN_READER_REPORT_SIZE];
    enum nm_yarn_reader_event event;

    s->figures = *figures;
    s->is_counting = false;
    event = nm_yarn_reader_report(&s->readers, s->params.name, figures, s->top, s->n_top, nm_now_usec(), sentence);
    if (event != NM_YARN_READER_NO_EVENT)
        report_event(s, event == NM_YARN_READER_OK ? LOG_INFO : LOG_WARNING, "%s", sentence);
}

static void on_forgotten(const struct nm_yarn_shuffle_usage *last, void *userdata)
{
    struct nm_yarn_aux_server *s = userdata;
    char sentence[NM_YARN_READER_REPORT_SIZE];

    if (nm_yarn_reader_total(s->params.name, last, sentence))
        report_event(s, LOG_INFO, "%s", sentence);
}

static void count_later(struct nm_yarn_aux_server *s)
{
    (void)sd_event_source_set_time_relative(s->count_timer,
                                            s->counts_often > 0 ? COUNT_OFTEN_USEC : COUNT_SELDOM_USEC);
    (void)sd_event_source_set_enabled(s->count_timer, SD_EVENT_ONESHOT);
}

static int on_count(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct nm_yarn_aux_server *s = userdata;

    (void)source, (void)usec;
    count(s);
    s->counts_often -= s->counts_often > 0;
    count_later(s);
    return 0;
}

/* Adds what another process has done. */
static void add_figures(struct nm_yarn_shuffle_figures *to, const struct nm_yarn_shuffle_figures *f)
{
    to->outputs_ok += f->outputs_ok;
    to->outputs_failed += f->outputs_failed;
    to->sent_bytes += f->sent_bytes;
    to->refused += f->refused;
    to->slow += f->slow;
}

void nm_yarn_aux_server_get_figures(struct nm_yarn_aux_server *s, struct nm_yarn_shuffle_figures *ret)
{
    const bool is_seldom = s->counts_often == 0;

    *ret = s->figures;
    add_figures(ret, &s->former);
    count(s);
    s->counts_often = COUNTS_OFTEN;
    if (is_seldom)
        count_later(s);
}

size_t nm_yarn_aux_server_get_top(const struct nm_yarn_aux_server *s, const struct nm_yarn_shuffle_usage **ret)
{
    *ret = s->top;
    return s->n_top;
}

void nm_yarn_aux_server_get_state(const struct nm_yarn_aux_server *s, struct nm_yarn_aux_state *ret)
{
    *ret = (struct nm_yarn_aux_state){
        .program = s->params.name,
        .is_up = s->is_listening,
        .port = s->port,
        .restarts = s->restarts,
        .since_realtime_usec = s->since_realtime_usec,
        .trouble = s->trouble,
    };
}

/* Adds the figures of a process that has ended. What it has done since its last answer is lost. */
static void keep_figures(struct nm_yarn_aux_server *s)
{
    add_figures(&s->former, &s->figures);
    s->figures = (struct nm_yarn_shuffle_figures){};
    s->readers = (struct nm_yarn_reader_report){};
    s->n_top = 0;
    s->is_counting = false;
}

/* ---- process ------------------------------------------------------------------------------ */

const char *nm_yarn_aux_account(void)
{
    static const char *const names[] = {"nmd-shuffle", "daemon", "nobody"};

    for (size_t i = 0; geteuid() == 0 && i < NM_ARRAY_SIZE(names); i++)
        if (getpwnam(names[i]))
            return names[i];
    return NULL;
}

static void on_ended(const char *why, void *userdata);

/* Starts the process. The port must be the same at each start, because application masters have passed the port on to
 * the clients of running applications. */
static int start(struct nm_yarn_aux_server *s)
{
    char listen[32], user[64];
    const char *argv[NM_YARN_AUX_OPTIONS_MAX + 4], *name = nm_yarn_aux_account();
    struct nm_yarn_shuffle_process_params p = {
        .event = s->params.event,
        .name = s->params.name,
        .program_fd = s->program_fd,
        .argv = argv,
        .most_files = s->params.most_files,
        .nice = s->has_weight ? 0 : NICE,
        .listening = on_listening,
        .refused = on_refused,
        .counted = on_counted,
        .listed = on_listed,
        .forgotten = on_forgotten,
        .ended = on_ended,
        .userdata = s,
    };
    size_t n = 0;

    (void)snprintf(listen, sizeof listen, "--listen=%" PRId64, s->port > 0 ? s->port : s->params.port);
    (void)snprintf(user, sizeof user, "--user=%s", name ?: "");
    argv[n++] = s->params.name;
    argv[n++] = listen;
    if (name)
        argv[n++] = user;
    for (size_t i = 0; i < NM_YARN_AUX_OPTIONS_MAX && s->params.options[i]; i++)
        argv[n++] = s->params.options[i];
    argv[n] = NULL;
    s->started_usec = nm_now_usec();
    return nm_yarn_shuffle_process_new(&p, &s->process);
}

/* Schedules another start. The delay grows with each failure. */
static void start_later(struct nm_yarn_aux_server *s)
{
    s->retry_usec = nm_now_usec() - s->started_usec >= WELL_USEC ? RETRY_MIN_USEC
                                                                 : NM_MIN(2 * s->retry_usec, RETRY_MAX_USEC);
    s->retry_usec = NM_MAX(s->retry_usec, RETRY_MIN_USEC);
    (void)sd_event_source_set_time(s->timer, nm_now_usec() + s->retry_usec);
    (void)sd_event_source_set_enabled(s->timer, SD_EVENT_ONESHOT);
}

static void on_ended(const char *why, void *userdata)
{
    struct nm_yarn_aux_server *s = userdata;

    s->process = nm_yarn_shuffle_process_free(s->process);
    if (s->is_listening)
        s->since_realtime_usec = nm_realtime_usec();
    s->is_listening = false;
    s->restarts++;
    (void)snprintf(s->trouble, sizeof s->trouble, "%s", why);
    keep_figures(s);
    start_later(s);
    report_event(s, LOG_WARNING, "%s; restarting it", why);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct nm_yarn_aux_server *s = userdata;

    (void)source, (void)usec;
    if (!s->process && start(s) < 0)
        start_later(s);
    return 0;
}

/* ---- the server --------------------------------------------------------------------------- */

/* Reads the port that an earlier nmd used. It is used if the configuration sets no port. */
static void read_port(struct nm_yarn_aux_server *s)
{
    char text[16];
    uint64_t port;

    if (s->params.port > 0 ||
        nm_read_file_at(s->params.state_fd, PORT_FILE, text, sizeof text, NULL) < 0)
        return;
    text[strcspn(text, "\n")] = '\0';
    if (nm_parse_u64(text, &port) >= 0 && port <= UINT16_MAX)
        s->port = (uint16_t)port;
}

/* Starts the process and waits until it is listening. This must happen before the first container starts, because the
 * answers to start requests contain the port. */
static int begin(struct nm_yarn_aux_server *s, char **ret_message)
{
    const struct timespec pause = {.tv_nsec = BEGIN_PAUSE_MSEC * 1000 * 1000};
    const uint64_t end_usec = nm_now_usec() + BEGIN_USEC;
    char why[300] = "it doesn't respond";
    int r;

    for (;;) { /* each attempt takes at least a tenth of a second */
        r = start(s);
        if (r < 0)
            return nm_fail(ret_message, r, "can't start %s: %s", s->params.program, strerror(-r));
        nm_yarn_shuffle_process_wait(s->process, nm_sub_u64(end_usec, nm_now_usec()));
        if (s->is_listening)
            return 0;
        nm_yarn_shuffle_process_last(s->process, why, sizeof why);
        s->process = nm_yarn_shuffle_process_free(s->process);
        if (nm_now_usec() >= end_usec)
            return nm_fail(ret_message, -EADDRINUSE, "%s doesn't listen: %s", s->params.name, why);
        if (s->params.port == 0)
            s->port = 0; /* another process uses that port, so try any free port */
        (void)nanosleep(&pause, NULL);
    }
}

static int refuse_program(const char *program, int r, char **ret_message)
{
    return nm_fail(ret_message, r, "%s: %s", program, strerror(-r));
}

static int make(const struct nm_yarn_aux_server_params *params, struct nm_yarn_aux_server **ret, char **ret_message)
{
    _cleanup_(nm_yarn_aux_server_freep) struct nm_yarn_aux_server *s = calloc(1, sizeof *s);
    int r;

    if (!s)
        return -ENOMEM;
    s->params = *params;
    s->program_fd = RET_NERRNO(open(params->program, O_PATH | O_CLOEXEC));
    if (s->program_fd < 0)
        return refuse_program(params->program, s->program_fd, ret_message);
    r = sd_event_add_time(params->event, &s->timer, CLOCK_BOOTTIME, UINT64_MAX, 0, on_timer, s);
    if (r >= 0)
        r = sd_event_source_set_enabled(s->timer, SD_EVENT_OFF);
    if (r >= 0)
        r = sd_event_add_time_relative(params->event, &s->count_timer, CLOCK_BOOTTIME, COUNT_SELDOM_USEC, 0, on_count,
                                       s);
    if (r < 0)
        return r;
    read_port(s);
    s->has_weight = params->manager && nm_manager_can_attach_helper(params->manager);
    if (!s->has_weight)
        log_message(s, LOG_NOTICE, "%s runs at nice 10, because this host has no CPU weights to rank it below "
                    "guaranteed containers", params->name);
    *ret = STEAL_PTR(s);
    return 0;
}

/* Starts the first process. If it can't listen, nmd may continue without it. */
static int begin_or_continue(struct nm_yarn_aux_server *s, char **ret_message)
{
    _cleanup_free_ char *why = NULL;
    int r = begin(s, s->params.may_wait ? &why : ret_message);

    if (r >= 0 || !s->params.may_wait)
        return r;
    s->restarts++;
    (void)snprintf(s->trouble, sizeof s->trouble, "%s", why ?: strerror(-r));
    s->since_realtime_usec = nm_realtime_usec();
    start_later(s);
    report_event(s, LOG_WARNING, "%s; nmd continues without it, and starts it again", s->trouble);
    return 0;
}

int nm_yarn_aux_server_start(const struct nm_yarn_aux_server_params *params, struct nm_yarn_aux_server **server,
                             char **ret_message)
{
    int r = make(params, server, ret_message);

    if (r == 0 && (r = begin_or_continue(*server, ret_message)) < 0)
        *server = nm_yarn_aux_server_free(*server);
    return r;
}

/* Even bad directories are listed, because their disks may recover. */
void nm_yarn_aux_add_local_dirs(const struct nm_yarn_settings *settings, const char **options, size_t n)
{
    for (size_t i = 0; i < NM_YARN_AUX_LOCAL_DIRS_MAX && settings->local_dirs[i] && n < NM_YARN_AUX_OPTIONS_MAX; i++)
        options[n++] = settings->local_dirs[i];
    options[n] = NULL;
}

struct nm_yarn_aux_server *nm_yarn_aux_server_free(struct nm_yarn_aux_server *s)
{
    if (!s)
        return NULL;
    (void)nm_yarn_shuffle_process_free(s->process);
    (void)sd_event_source_disable_unref(s->timer);
    (void)sd_event_source_disable_unref(s->count_timer);
    (void)nm_close(s->program_fd);
    free(s);
    return NULL;
}
