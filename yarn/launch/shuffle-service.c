/* SPDX-License-Identifier: Apache-2.0 */

/* See shuffle-service.h. */

#include "yarn/launch/shuffle-service.h"

#include <inttypes.h>

#include "rpc/hadoop/token.h"
#include "util/fileio.h"
#include "yarn/launch/aux-server.h"
#include "yarn/launch/shuffle-jobs.h"
#include "yarn/launch/user.h"
#include "yarn/port.h"

#define MOST_CONNECTIONS 8192
#define KEY_MAX 64 /* nm-shuffle's limit for a key in bytes (shuffle/jobs.h) */

struct nm_yarn_shuffle {
    struct nm_yarn_shuffle_params params;
    struct nm_yarn_shuffle_jobs jobs;
    struct nm_yarn_aux_server *server;
    char connections[48]; /* an option */
    const char *options[NM_YARN_AUX_OPTIONS_MAX + 1];
    uint8_t metadata[4];
};

/* ---- input of nm-shuffle ------------------------------------------------------------------ */

static void send_job(struct nm_yarn_shuffle *s, const struct nm_yarn_shuffle_job *job)
{
    char line[NM_YARN_SHUFFLE_LINE_SIZE];

    nm_yarn_shuffle_add_line(job, line);
    nm_yarn_aux_server_send(s->server, line);
    explicit_bzero(line, sizeof line);
}

/* Sends all jobs to a new process. */
static void on_listening(uint16_t port, void *userdata)
{
    struct nm_yarn_shuffle *s = userdata;
    const struct nm_yarn_shuffle_job *j;

    for (unsigned i = 0; i < sizeof s->metadata; i++)
        s->metadata[i] = (uint8_t)((uint32_t)port >> (24 - 8 * i));
    TAILQ_FOREACH(j, &s->jobs.list, link)
        send_job(s, j);
}

void nm_yarn_shuffle_get_figures(struct nm_yarn_shuffle *s, struct nm_yarn_shuffle_figures *ret)
{
    nm_yarn_aux_server_get_figures(s->server, ret);
}

void nm_yarn_shuffle_get_state(const struct nm_yarn_shuffle *s, struct nm_yarn_aux_state *ret)
{
    nm_yarn_aux_server_get_state(s->server, ret);
}

size_t nm_yarn_shuffle_count(const struct nm_yarn_shuffle *s)
{
    return nm_yarn_shuffle_jobs_count(&s->jobs);
}

/* ---- the service -------------------------------------------------------------------------- */

struct nm_bytes nm_yarn_shuffle_metadata(const struct nm_yarn_shuffle *s)
{
    return (struct nm_bytes){s->metadata, sizeof s->metadata};
}

int nm_yarn_shuffle_add(struct nm_yarn_shuffle *s, const char *submitter, const char *user, const char *application,
                        struct nm_bytes data)
{
    struct nm_yarn_shuffle_grant grant = {.application = application, .submitter = submitter, .is_stored = true};
    const struct nm_yarn_shuffle_job *job;
    struct nm_token token;
    gid_t gid;
    int r = nm_token_read(&data, &token);

    if (r >= 0)
        r = nm_yarn_user_find(user, &grant.uid, &gid);
    if (r < 0)
        return r;
    grant.key = token.password;
    r = nm_yarn_shuffle_jobs_add(&s->jobs, &grant, &job);
    if (r == 0)
        send_job(s, job);
    return r < 0 ? r : 0;
}

void nm_yarn_shuffle_end_application(struct nm_yarn_shuffle *s, const char *application)
{
    char line[NM_YARN_SHUFFLE_LINE_SIZE];

    if (nm_yarn_shuffle_jobs_remove(&s->jobs, application) < 0)
        return;
    nm_yarn_shuffle_remove_line(application, line);
    nm_yarn_aux_server_send(s->server, line);
}

static int open_state(struct nm_yarn_shuffle *s)
{
    _cleanup_free_ char *path = NULL;
    int r;

    if (asprintf(&path, "%s/shuffle", s->params.state_dir) < 0)
        return -ENOMEM;
    r = nm_mkdir_p(path, 0700);
    return r < 0 ? r : nm_yarn_shuffle_jobs_open(path, &s->jobs);
}

bool nm_yarn_shuffle_is_wanted(const struct nm_yarn_settings *s)
{
    return s->has_shuffle;
}

int nm_yarn_shuffle_check(const struct nm_yarn_settings *s, const char *program, bool may_be_ours, char **ret_message)
{
    int r = RET_NERRNO(access(program, F_OK));

    if (r < 0)
        return nm_fail(ret_message, r, "%s: %s", program, strerror(-r));
    return nm_yarn_port_check("0.0.0.0", (uint16_t)s->shuffle_port, NM_YARN_SHUFFLE_PORT, NM_YARN_SHUFFLE_PORT,
                              may_be_ours, ret_message);
}

static int64_t max_connections(const struct nm_yarn_settings *settings)
{
    return settings->shuffle_max_connections > 0 ? settings->shuffle_max_connections : MOST_CONNECTIONS;
}

static void make_options(struct nm_yarn_shuffle *s)
{
    const struct nm_yarn_settings *settings = s->params.settings;
    size_t n = 0;

    (void)snprintf(s->connections, sizeof s->connections, "--max-connections=%" PRId64, max_connections(settings));
    s->options[n++] = s->connections;
    if (!settings->shuffle_drops_cache)
        s->options[n++] = "--keep-page-cache";
    nm_yarn_aux_add_local_dirs(settings, s->options, n);
}

static int make_server(struct nm_yarn_shuffle *s, char **ret_message)
{
    const struct nm_yarn_shuffle_params *p = &s->params;
    const struct nm_yarn_aux_server_params params = {
        .event = p->event,
        .manager = p->manager,
        .name = "nm-shuffle",
        .helper = "shuffle",
        .program = p->program,
        .options = s->options,
        .most_files = 5 * (uint64_t)max_connections(p->settings) + 512 + 4096, /* shuffle/service.h */
        .port = p->settings->shuffle_port,
        .state_fd = s->jobs.state_fd,
        .report_cb = p->report_cb,
        .listening = on_listening,
        .userdata = s,
    };

    return nm_yarn_aux_server_start(&params, &s->server, ret_message);
}

int nm_yarn_shuffle_new(const struct nm_yarn_shuffle_params *params, struct nm_yarn_shuffle **ret, char **ret_message)
{
    _cleanup_(nm_yarn_shuffle_freep) struct nm_yarn_shuffle *s = calloc(1, sizeof *s);
    int r;

    if (!s)
        return -ENOMEM;
    s->params = *params;
    s->jobs = (struct nm_yarn_shuffle_jobs){.state_fd = -EBADF, .key_min = 1, .key_max = KEY_MAX};
    TAILQ_INIT(&s->jobs.list);
    r = open_state(s);
    if (r < 0)
        return r;
    make_options(s);
    if ((r = make_server(s, ret_message)) < 0)
        return r;
    *ret = STEAL_PTR(s);
    return 0;
}

struct nm_yarn_shuffle *nm_yarn_shuffle_free(struct nm_yarn_shuffle *s)
{
    if (!s)
        return NULL;
    (void)nm_yarn_aux_server_free(s->server);
    nm_yarn_shuffle_jobs_done(&s->jobs);
    free(s);
    return NULL;
}
