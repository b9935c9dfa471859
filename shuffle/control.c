/* SPDX-License-Identifier: Apache-2.0 */

/* See server.h. */

#include "shuffle/server.h"

#include <inttypes.h>

#include <jansson.h>
#include <nettle/base16.h>

#include "util/error.h"
#include "util/json-text.h"
#include "util/parse.h"

/* Copies a member that is a string and fits; otherwise copies an empty string, which later checks reject. */
static void copy_string(const json_t *from, const char *name, char *ret, size_t size)
{
    const char *text = json_string_value(json_object_get(from, name));
    size_t length = text ? json_string_length(json_object_get(from, name)) : 0;

    *ret = '\0';
    if (text && length < size && strlen(text) == length)
        *(char *)mempcpy(ret, text, length) = '\0';
}

/* Checks a user's name, because it becomes a part of a path. Some users' names are not accepted by nm_name_is_valid():
 * "_x$". */
static bool is_user(const char *user)
{
    return *user && !strchr(user, '/') && !nm_streq(user, ".") && !nm_streq(user, "..");
}

/* Accepts only hexadecimal of at least one byte that fits. */
static int parse_key(const char *text, struct nm_shuffle_job *job)
{
    struct base16_decode_ctx context;
    size_t n = strlen(text), size = sizeof job->key;

    if (n == 0 || n % 2 != 0 || n / 2 > sizeof job->key || strspn(text, "0123456789abcdefABCDEF") != n)
        return -EINVAL;
    base16_decode_init(&context);
    if (!base16_decode_update(&context, &size, job->key, n, text) || !base16_decode_final(&context))
        return -EINVAL;
    job->key_size = size;
    return 0;
}

static int parse_job(const json_t *o, struct nm_shuffle_job *ret, char **ret_message)
{
    const json_t *uid = json_object_get(o, "uid");
    const char *key = json_string_value(json_object_get(o, "key"));
    struct nm_shuffle_job job = {.uid = (uid_t)json_integer_value(uid)};

    copy_string(o, "job", job.id, sizeof job.id);
    copy_string(o, "user", job.user, sizeof job.user);
    if (!nm_shuffle_is_job(nm_bytes_of(job.id)))
        return nm_fail(ret_message, -EINVAL, "job: '%s' is not a job's id, such as job_1410901177871_0001", job.id);
    if (!is_user(job.user))
        return nm_fail(ret_message, -EINVAL, "user: '%s' is not a valid user name", job.user);
    if (!json_is_integer(uid) || json_integer_value(uid) < 0 || json_integer_value(uid) >= UINT32_MAX)
        return nm_fail(ret_message, -EINVAL, "uid: must be the uid of the user who owns the map output files");
    if (!key || parse_key(key, &job) < 0)
        return nm_fail(ret_message, -EINVAL, "key: must be 1 to %u bytes in hexadecimal", NM_SHUFFLE_KEY_MAX);
    *ret = job;
    return 0;
}

static int add(struct nm_shuffle_service *s, const json_t *o, char **ret_message)
{
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

static int take_out(struct nm_shuffle_service *s, const json_t *o, char **ret_message)
{
    char id[sizeof((struct nm_shuffle_job *)NULL)->id];

    copy_string(o, "job", id, sizeof id);
    if (nm_shuffle_jobs_remove(s->jobs, id) < 0)
        return nm_fail(ret_message, -ENOENT, "job: '%s' is unknown", id);
    return 0;
}

static char *reply_figures(struct nm_shuffle_service *s)
{
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

static char *reply_error(const char *message)
{
    json_t *o = json_pack("{s:s}", "error", message);
    char *text = nm_json_text(o, 0);

    json_decref(o);
    return text;
}

void nm_shuffle_control(struct nm_shuffle_service *s, const char *line, size_t size, char **ret_reply)
{
    _cleanup_free_ char *message = NULL;
    json_error_t error;
    json_t *o = json_loadb(line, size, JSON_REJECT_DUPLICATES, &error), *what;
    int r = 0;

    *ret_reply = NULL;
    if (!o)
        r = nm_fail(&message, -EINVAL, "the command is not JSON: %s", error.text);
    else if ((what = json_object_get(o, "add")))
        r = add(s, what, &message);
    else if ((what = json_object_get(o, "remove")))
        r = take_out(s, what, &message);
    else if (json_object_get(o, "count"))
        *ret_reply = reply_figures(s);
    else
        r = nm_fail(&message, -EINVAL, "the command must have one of add, remove and count");
    json_decref(o);
    if (r < 0)
        *ret_reply = reply_error(message ? message : strerror(-r));
    else if (!*ret_reply)
        *ret_reply = strdup("{\"ok\": {}}");
}

/* Answers each line, so that the caller knows that the key is stored before a reducer needs it. */
int nm_shuffle_control_run(struct nm_shuffle_service *s, FILE *in, FILE *out)
{
    char line[NM_SHUFFLE_LINE_MAX];

    /* A longer line is read in pieces, each of which is answered as an invalid line. */
    while (fgets(line, sizeof line, in)) {
        _cleanup_free_ char *reply = NULL;

        nm_shuffle_control(s, line, strlen(line), &reply);
        explicit_bzero(line, sizeof line); /* the line may have contained a key */
        if (fprintf(out, "%s\n", reply ? reply : "{\"error\": \"no memory\"}") < 0 || fflush(out) != 0)
            return -errno;
    }
    return 0;
}
