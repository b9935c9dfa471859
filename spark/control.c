/* SPDX-License-Identifier: Apache-2.0 */

/* See control.h. */

#include "spark/control.h"

#include <errno.h>
#include <inttypes.h>

#include "shuffle/command.h"
#include "spark/number.h"
#include "util/error.h"
#include "util/macros.h"

/* An id, and seven numbers with their names, take at most 330 bytes. nmd reads lines of 20 KiB. */
#define USAGE_SIZE 400u
#define TOP_MAX 32u
#define TOP_SIZE (TOP_MAX * USAGE_SIZE)

/* Returns whether it is an id such as application_1410901177871_0001. */
static bool is_application(const char *id)
{
    static const char prefix[] = "application_";
    struct nm_bytes rest = nm_bytes_of(id);
    uint64_t number;

    if (strncmp(id, prefix, strlen(prefix)) != 0)
        return false;
    (void)nm_bytes_take(&rest, strlen(prefix));
    return nm_spark_take_number(&rest, UINT64_MAX, &number) == 0 && rest.size > 0 &&
           *nm_bytes_take(&rest, 1).data == '_' && nm_spark_take_number(&rest, UINT64_MAX, &number) == 0 &&
           rest.size == 0;
}

static int take_id(const json_t *o, char *ret, size_t size, char **ret_message)
{
    nm_shuffle_command_text(o, "application", ret, size);
    return is_application(ret) ? 0
                               : nm_fail(ret_message, -EINVAL,
                                         "application: '%s' is not an application's id, such as "
                                         "application_1410901177871_0001", ret);
}

static int add(void *userdata, const json_t *o, char **ret_message)
{
    struct nm_spark_service *s = userdata;
    const char *hexadecimal = json_string_value(json_object_get(o, "secret"));
    const json_t *stored = json_object_get(o, "stored");
    struct nm_spark_application application = {};
    uint8_t secret[NM_SPARK_SECRET_MAX];
    size_t size;
    int r;

    if ((r = take_id(o, application.id, sizeof application.id, ret_message)) < 0 ||
        (r = nm_shuffle_command_user(o, application.user, sizeof application.user, &application.uid, ret_message)) < 0)
        return r;
    if (!hexadecimal || nm_shuffle_command_bytes(hexadecimal, secret, sizeof secret, &size) < 0)
        return nm_fail(ret_message, -EINVAL, "secret: must be at most %u bytes in hexadecimal", NM_SPARK_SECRET_MAX);
    if (!json_is_boolean(stored))
        return nm_fail(ret_message, -EINVAL, "stored: must be true or false");
    r = nm_spark_applications_add(s->applications, &application, (struct nm_bytes){secret, size},
                                  json_is_true(stored));
    explicit_bzero(secret, sizeof secret);
    if (r == -ENOSPC)
        return nm_fail(ret_message, r, "application: the limit of %u applications is reached",
                       NM_SPARK_APPLICATIONS_MAX);
    return r;
}

/* Prints the figures of an application, without the braces around them. */
static int print_usage(const char *id, const struct nm_spark_usage *u, char *to, size_t size)
{
    return snprintf(to, size, "\"application\": \"%s\", \"open\": %" PRIu64 ", \"streams\": %" PRIu64
                    ", \"stalled\": %" PRIu64 ", \"slow\": %" PRIu64 ", \"outputs_ok\": %" PRIu64
                    ", \"outputs_failed\": %" PRIu64 ", \"sent_bytes\": %" PRIu64,
                    id, u->connections, u->streams, u->stalled, u->slow, u->blocks_ok, u->blocks_failed,
                    u->sent_bytes);
}

static int take_out(void *userdata, const json_t *o, char **ret_reply, char **ret_message)
{
    struct nm_spark_service *s = userdata;
    char id[NM_SPARK_ID_SIZE], figures[USAGE_SIZE];
    struct nm_spark_usage usage = {};
    int r = take_id(o, id, sizeof id, ret_message);

    if (r < 0)
        return r;
    (void)nm_spark_applications_usage(s->applications, id, &usage);
    r = nm_spark_applications_remove(s->applications, id);
    nm_shuffle_index_cache_forget(s->index_cache, nm_spark_index_app(id));
    if (r < 0)
        return nm_fail(ret_message, -ENOENT, "application: '%s' is unknown", id);
    (void)print_usage(id, &usage, figures, sizeof figures);
    *ret_reply = nm_strdup_printf("{\"ok\": {\"ended\": {%s}}}", figures);
    return *ret_reply ? 0 : -ENOMEM;
}

/* Prints the applications that an administrator looks for first. */
static void print_top(struct nm_spark_service *s, char to[static TOP_SIZE])
{
    struct nm_spark_application_usage top[TOP_MAX];
    const unsigned n = nm_spark_applications_top(s->applications, top, TOP_MAX);
    size_t used = 0;

    *to = '\0';
    for (unsigned i = 0; i < n; i++) {
        used += (size_t)snprintf(to + used, TOP_SIZE - used, "%s{", i > 0 ? ", " : "");
        used += (size_t)print_usage(top[i].id, &top[i].usage, to + used, TOP_SIZE - used);
        used += (size_t)snprintf(to + used, TOP_SIZE - used, "}");
    }
}

static char *reply_figures(void *userdata)
{
    struct nm_spark_service *s = userdata;
    const struct nm_spark_counts n = nm_spark_applications_count(s->applications);
    const struct nm_spark_counters *c = &s->count;
    char top[TOP_SIZE];

    print_top(s, top);
    return nm_strdup_printf("{\"ok\": {\"open\": %u, \"connections\": %" PRIuFAST64 ", \"refused\": %" PRIuFAST64
                            ", \"slow\": %" PRIuFAST64 ", \"applications\": %u, \"executors\": %u, \"not_stored\": %"
                            PRIu64 ", \"streams\": %" PRIuFAST64 ", \"outputs_ok\": %" PRIuFAST64
                            ", \"outputs_failed\": %" PRIuFAST64 ", \"sent_bytes\": %" PRIuFAST64
                            ", \"stalled\": %" PRIu64 ", \"top\": [%s]}}",
                            nm_shuffle_connections_count(s->connections), atomic_load(&c->connections),
                            atomic_load(&c->refused), atomic_load(&c->slow), n.applications, n.executors, n.not_stored,
                            atomic_load(&c->streams), atomic_load(&c->blocks_ok), atomic_load(&c->blocks_failed),
                            atomic_load(&c->sent_bytes), n.stalled, top);
}

static const struct nm_shuffle_commands commands = {.add = add, .remove = take_out, .count = reply_figures};

void nm_spark_control(struct nm_spark_service *s, const char *line, size_t size, char **ret_reply)
{
    nm_shuffle_command(&commands, s, line, size, ret_reply);
}

int nm_spark_control_run(struct nm_spark_service *s, FILE *in, FILE *out)
{
    return nm_shuffle_commands_run(&commands, s, in, out);
}
