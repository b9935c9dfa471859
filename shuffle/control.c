/* SPDX-License-Identifier: Apache-2.0 */

/* See server.h. */

#include "shuffle/server.h"

#include <inttypes.h>

#include "shuffle/command.h"
#include "shuffle/index-cache.h"
#include "util/error.h"

static int parse_job(const json_t *o, struct nm_shuffle_job *ret, char **ret_message)
{
    const char *key = json_string_value(json_object_get(o, "key"));
    struct nm_shuffle_job job = {};
    int r;

    nm_shuffle_command_text(o, "job", job.id, sizeof job.id);
    if (!nm_shuffle_is_job(nm_bytes_of(job.id)))
        return nm_fail(ret_message, -EINVAL, "job: '%s' is not a job's id, such as job_1410901177871_0001", job.id);
    if ((r = nm_shuffle_command_user(o, job.user, sizeof job.user, &job.uid, ret_message)) < 0)
        return r;
    if (!key || nm_shuffle_command_bytes(key, job.key, sizeof job.key, &job.key_size) < 0 || job.key_size == 0)
        return nm_fail(ret_message, -EINVAL, "key: must be 1 to %u bytes in hexadecimal", NM_SHUFFLE_KEY_MAX);
    *ret = job;
    return 0;
}

static int add(void *userdata, const json_t *o, char **ret_message)
{
    struct nm_shuffle_service *s = userdata;
    struct nm_shuffle_job job;
    int r = parse_job(o, &job, ret_message);

    if (r < 0)
        return r;
    r = nm_shuffle_jobs_add(s->jobs, &job);
    explicit_bzero(job.key, sizeof job.key);
    if (r == -ENOSPC)
        return nm_fail(ret_message, r, "job: the limit of %u jobs is reached", NM_SHUFFLE_JOBS_MAX);
    return r;
}

static int take_out(void *userdata, const json_t *o, char **ret_reply, char **ret_message)
{
    struct nm_shuffle_service *s = userdata;
    char id[sizeof((struct nm_shuffle_job *)NULL)->id];
    uint64_t number = 0;

    (void)ret_reply;
    nm_shuffle_command_text(o, "job", id, sizeof id);
    if (nm_shuffle_jobs_remove(s->jobs, id, &number) < 0)
        return nm_fail(ret_message, -ENOENT, "job: '%s' is unknown", id);
    nm_shuffle_index_cache_forget(s->dirs.index_cache, number);
    return 0;
}

static char *reply_figures(void *userdata)
{
    struct nm_shuffle_service *s = userdata;
    const struct nm_shuffle_counters *c = &s->count;
    char *text;

    return asprintf(&text,
                    "{\"ok\": {\"open\": %u, \"connections\": %" PRIuFAST64 ", \"refused\": %" PRIuFAST64
                    ", \"outputs_ok\": %" PRIuFAST64 ", \"outputs_failed\": %" PRIuFAST64
                    ", \"sent_bytes\": %" PRIuFAST64 "}}",
                    nm_shuffle_connections_count(s->connections), atomic_load(&c->connections),
                    atomic_load(&c->refused), atomic_load(&c->outputs_ok), atomic_load(&c->outputs_failed),
                    atomic_load(&c->sent_bytes)) < 0
               ? NULL
               : text;
}

static const struct nm_shuffle_commands commands = {.add = add, .remove = take_out, .count = reply_figures};

void nm_shuffle_control(struct nm_shuffle_service *s, const char *line, size_t size, char **ret_reply)
{
    nm_shuffle_command(&commands, s, line, size, ret_reply);
}

int nm_shuffle_control_run(struct nm_shuffle_service *s, FILE *in, FILE *out)
{
    return nm_shuffle_commands_run(&commands, s, in, out);
}
