/* SPDX-License-Identifier: Apache-2.0 */

/* See spark-service.h. */

#include "yarn/launch/spark-service.h"

#include <fcntl.h>
#include <inttypes.h>
#include <pwd.h>
#include <sys/stat.h>

#include <jansson.h>

#include "util/clock.h"
#include "util/fileio.h"
#include "yarn/launch/aux-server.h"
#include "yarn/launch/shuffle-jobs.h"
#include "yarn/launch/user.h"
#include "yarn/port.h"

/* An executor keeps one connection to each node, and one application may have three eighths of all connections. */
#define CONNECTIONS_MAX 8192u
#define LINE_SIZE 1024
#define RECOVERY_DISABLED "spark.yarn.shuffle.server.recovery.disabled"
#define EXECUTORS "executors" /* directory of the process, beside the files of the applications */

struct nm_yarn_spark {
    struct nm_yarn_spark_params params;
    struct nm_yarn_shuffle_jobs jobs;
    struct nm_yarn_aux_server *server;
    int executors_fd;
    char *state_option;
    char version_option[32], connections_option[32], chunks_option[40], timeout_option[32], backlog_option[32];
    const char *options[NM_YARN_AUX_OPTIONS_MAX + 1];
};

/* ---- input of nm-spark-shuffle ------------------------------------------------------------- */

/* Sends a line. Numbers and names need no escapes, because they were checked. */
static void send_job(struct nm_yarn_spark *s, const struct nm_yarn_shuffle_job *j)
{
    char line[LINE_SIZE];

    (void)snprintf(line, sizeof line,
                   "{\"add\": {\"application\": \"%s\", \"user\": \"%s\", \"uid\": %ju, \"secret\": \"%s\", "
                   "\"stored\": %s}}",
                   j->application, j->submitter, (uintmax_t)j->uid, j->key, j->is_stored ? "true" : "false");
    nm_yarn_aux_server_send(s->server, line);
    explicit_bzero(line, sizeof line);
}

/* Sends all applications to a new process. */
static void on_listening(uint16_t port, void *userdata)
{
    struct nm_yarn_spark *s = userdata;
    const struct nm_yarn_shuffle_job *j;

    (void)port; /* executors read it from the configuration */
    TAILQ_FOREACH(j, &s->jobs.list, link)
        send_job(s, j);
}

/* ---- applications ------------------------------------------------------------------------- */

/* Reads a container's data. Spark sends JSON only if the application asks not to be stored. Otherwise the data is the
 * secret itself, as in Spark, which tries JSON first. The result refers to the data or to *ret_json. */
static void read_data(struct nm_bytes data, struct nm_yarn_shuffle_grant *grant, json_t **ret_json)
{
    json_t *o = json_loadb((const char *)data.data, data.size, JSON_REJECT_DUPLICATES, NULL);
    const json_t *secret = json_object_get(o, "secret");

    grant->is_stored = true;
    grant->key = data;
    *ret_json = o;
    if (!json_is_object(o))
        return;
    grant->is_stored = !json_is_true(json_object_get(o, RECOVERY_DISABLED));
    grant->key = (struct nm_bytes){(const uint8_t *)json_string_value(secret), json_string_length(secret)};
}

int nm_yarn_spark_add(struct nm_yarn_spark *s, const char *submitter, const char *user, const char *application,
                      struct nm_bytes data)
{
    struct nm_yarn_shuffle_grant grant = {.application = application, .submitter = submitter};
    const struct nm_yarn_shuffle_job *job;
    json_t *o = NULL;
    gid_t gid;
    int r = nm_yarn_user_find(user, &grant.uid, &gid);

    if (r < 0)
        return r;
    read_data(data, &grant, &o);
    r = nm_yarn_shuffle_jobs_add(&s->jobs, &grant, &job);
    if (r == 0)
        send_job(s, job);
    json_decref(o);
    return r < 0 ? r : 0;
}

/* nmd removes the file of the process, too, because the process may not be running. */
void nm_yarn_spark_end_application(struct nm_yarn_spark *s, const char *application)
{
    char line[LINE_SIZE];

    if (nm_yarn_shuffle_jobs_remove(&s->jobs, application) < 0)
        return;
    (void)snprintf(line, sizeof line, "{\"remove\": {\"application\": \"%s\"}}", application);
    nm_yarn_aux_server_send(s->server, line);
    (void)unlinkat(s->executors_fd, application, 0);
}

void nm_yarn_spark_get_figures(struct nm_yarn_spark *s, struct nm_yarn_shuffle_figures *ret)
{
    nm_yarn_aux_server_get_figures(s->server, ret);
}

size_t nm_yarn_spark_get_top(const struct nm_yarn_spark *s, const struct nm_yarn_shuffle_usage **ret)
{
    return nm_yarn_aux_server_get_top(s->server, ret);
}

void nm_yarn_spark_get_state(const struct nm_yarn_spark *s, struct nm_yarn_aux_state *ret)
{
    nm_yarn_aux_server_get_state(s->server, ret);
}

size_t nm_yarn_spark_count(const struct nm_yarn_spark *s)
{
    return nm_yarn_shuffle_jobs_count(&s->jobs);
}

/* ---- the service -------------------------------------------------------------------------- */

bool nm_yarn_spark_is_wanted(const struct nm_yarn_settings *s)
{
    return s->spark.name;
}

const char *nm_yarn_spark_name(const struct nm_yarn_spark *s)
{
    return s->params.settings->spark.name;
}

int nm_yarn_spark_check(const struct nm_yarn_settings *s, const char *program, bool may_be_ours, char **ret_message)
{
    int r = RET_NERRNO(access(program, F_OK));

    if (r < 0)
        return nm_fail(ret_message, r, "%s: %s", program, strerror(-r));
    if (!s->spark.must_start)
        return 0;
    return nm_yarn_port_check("0.0.0.0", (uint16_t)s->spark.port, NM_YARN_SPARK_PORT, NM_YARN_SPARK_PORT, may_be_ours,
                              ret_message);
}

/* Makes the directory in which the process stores executors. It belongs to the account of the process. */
static int open_executors(struct nm_yarn_spark *s)
{
    const char *account = nm_yarn_aux_account();
    const struct passwd *pw = account ? getpwnam(account) : NULL;

    if (mkdirat(s->jobs.state_fd, EXECUTORS, 0700) < 0 && errno != EEXIST)
        return -errno;
    s->executors_fd = RET_NERRNO(openat(s->jobs.state_fd, EXECUTORS, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (s->executors_fd < 0)
        return s->executors_fd;
    return pw && fchown(s->executors_fd, pw->pw_uid, pw->pw_gid) < 0 ? -errno : 0;
}

static int open_state(struct nm_yarn_spark *s)
{
    _cleanup_free_ char *path = NULL;
    int r;

    if (asprintf(&path, "%s/spark", s->params.state_dir) < 0)
        return -ENOMEM;
    if (asprintf(&s->state_option, "--state=%s/" EXECUTORS, path) < 0) {
        s->state_option = NULL;
        return -ENOMEM;
    }
    if ((r = nm_mkdir_p(path, 0700)) < 0 || (r = nm_yarn_shuffle_jobs_open(path, &s->jobs)) < 0)
        return r;
    return open_executors(s);
}

/* Returns the time that the operator has set, in seconds, or 0. Then nm-spark-shuffle has limits of its own. */
static uint64_t timeout_sec(const struct nm_yarn_settings *s)
{
    return nm_yarn_settings_file(s, "spark.shuffle.io.connectionTimeout") ||
                   nm_yarn_settings_file(s, "spark.network.timeout")
               ? s->spark.timeout_usec / NM_USEC_PER_SEC
               : 0;
}

/* Adds the limits that the operator has set. Returns the number of options. */
static size_t add_limits(struct nm_yarn_spark *s, size_t n)
{
    const struct nm_yarn_spark_settings *spark = &s->params.settings->spark;

    if (spark->max_chunks < INT64_MAX) {
        (void)snprintf(s->chunks_option, sizeof s->chunks_option, "--max-chunks=%" PRId64, spark->max_chunks);
        s->options[n++] = s->chunks_option;
    }
    if (timeout_sec(s->params.settings) > 0) {
        (void)snprintf(s->timeout_option, sizeof s->timeout_option, "--timeout=%" PRIu64,
                       timeout_sec(s->params.settings));
        s->options[n++] = s->timeout_option;
    }
    if (spark->backlog > 0) {
        (void)snprintf(s->backlog_option, sizeof s->backlog_option, "--backlog=%" PRId64, spark->backlog);
        s->options[n++] = s->backlog_option;
    }
    if (spark->keeps_alive)
        s->options[n++] = "--keep-alive";
    return n;
}

static void make_options(struct nm_yarn_spark *s)
{
    const struct nm_yarn_settings *settings = s->params.settings;
    const struct nm_yarn_spark_settings *spark = &settings->spark;
    size_t n = 0;

    (void)snprintf(s->version_option, sizeof s->version_option, "--crypto-version=%" PRId64, spark->crypto_version);
    (void)snprintf(s->connections_option, sizeof s->connections_option, "--max-connections=%u", CONNECTIONS_MAX);
    s->options[n++] = s->state_option;
    s->options[n++] = s->connections_option;
    s->options[n++] = s->version_option;
    n = add_limits(s, n);
    if (spark->authenticates)
        s->options[n++] = "--authenticate";
    if (spark->has_crypto)
        s->options[n++] = "--crypto";
    if (!spark->falls_back)
        s->options[n++] = "--no-sasl";
    if (spark->must_encrypt)
        s->options[n++] = "--sasl-encrypt";
    nm_yarn_aux_add_local_dirs(settings, s->options, n);
}

static int make_server(struct nm_yarn_spark *s, char **ret_message)
{
    const struct nm_yarn_spark_params *p = &s->params;
    const struct nm_yarn_aux_server_params params = {
        .event = p->event,
        .manager = p->manager,
        .name = "nm-spark-shuffle",
        .helper = "spark",
        .program = p->program,
        .options = s->options,
        .may_wait = !p->settings->spark.must_start,
        .most_files = 5 * (uint64_t)CONNECTIONS_MAX + 1024, /* a connection has its socket and the files of a block */
        .port = p->settings->spark.port,
        .state_fd = s->jobs.state_fd,
        .report_cb = p->report_cb,
        .listening = on_listening,
        .userdata = s,
    };

    return nm_yarn_aux_server_start(&params, &s->server, ret_message);
}

int nm_yarn_spark_new(const struct nm_yarn_spark_params *params, struct nm_yarn_spark **ret, char **ret_message)
{
    _cleanup_(nm_yarn_spark_freep) struct nm_yarn_spark *s = calloc(1, sizeof *s);
    int r;

    if (!s)
        return -ENOMEM;
    s->params = *params;
    s->executors_fd = -EBADF;
    s->jobs = (struct nm_yarn_shuffle_jobs){.state_fd = -EBADF, .key_max = NM_YARN_SHUFFLE_KEY_MAX};
    TAILQ_INIT(&s->jobs.list);
    if ((r = open_state(s)) < 0)
        return r;
    make_options(s);
    if ((r = make_server(s, ret_message)) < 0)
        return r;
    *ret = STEAL_PTR(s);
    return 0;
}

struct nm_yarn_spark *nm_yarn_spark_free(struct nm_yarn_spark *s)
{
    if (!s)
        return NULL;
    (void)nm_yarn_aux_server_free(s->server);
    nm_yarn_shuffle_jobs_done(&s->jobs);
    (void)nm_close(s->executors_fd);
    free(s->state_option);
    free(s);
    return NULL;
}
