/* SPDX-License-Identifier: Apache-2.0 */

/* See log-context.h. */

#include "yarn/logs/log-context.h"

#include "rpc/hadoop/arena.h"
#include "util/error.h"
#include "util/utf8.h"
#include "yarn/logs/logs.pb-c.h"

/* The members with their names in JSON. */
static const struct member {
    const char *name;
    size_t offset;
} members[] = {
    {"include", offsetof(struct nm_yarn_log_context, include)},
    {"exclude", offsetof(struct nm_yarn_log_context, exclude)},
    {"rolled_include", offsetof(struct nm_yarn_log_context, rolled_include)},
    {"rolled_exclude", offsetof(struct nm_yarn_log_context, rolled_exclude)},
    {"policy", offsetof(struct nm_yarn_log_context, policy)},
    {"policy_parameters", offsetof(struct nm_yarn_log_context, policy_parameters)},
};

static char **field(struct nm_yarn_log_context *c, size_t i)
{
    return (char **)(void *)((char *)c + members[i].offset);
}

void nm_yarn_log_context_done(struct nm_yarn_log_context *c)
{
    for (size_t i = 0; i < NM_ARRAY_SIZE(members); i++) {
        free(*field(c, i));
        *field(c, i) = NULL;
    }
}

bool nm_yarn_log_context_rolls(const struct nm_yarn_log_context *c)
{
    return c->rolled_include && *c->rolled_include;
}

/* Copies a text that must be UTF-8, because it becomes a part of JSON. */
static int copy(const char *text, char **ret)
{
    if (!text)
        return 0;
    if (strlen(text) > NM_YARN_LOG_TEXT_MAX || nm_utf8_prefix(text) != strlen(text))
        return -EBADMSG;
    *ret = strdup(text);
    return *ret ? 0 : -ENOMEM;
}

int nm_yarn_log_context_parse(struct nm_bytes bytes, struct nm_yarn_log_context *ret)
{
    _cleanup_(nm_yarn_log_context_donep) struct nm_yarn_log_context c = {0};
    const Yarn__LogContext *m;
    struct nm_arena arena;
    int r = 0;

    nm_arena_init(&arena, nm_arena_limit(bytes.size), NULL);
    m = (const Yarn__LogContext *)nm_arena_unpack(&arena, &yarn__log_context__descriptor, bytes);
    if (!m)
        r = nm_arena_error(&arena);
    else {
        const char *const texts[] = {m->include, m->exclude, m->rolled_include, m->rolled_exclude, m->policy,
                                     m->policy_parameters};

        for (size_t i = 0; r == 0 && i < NM_ARRAY_SIZE(texts); i++)
            r = copy(texts[i], field(&c, i));
    }
    nm_arena_done(&arena);
    if (r < 0)
        return r;
    *ret = c;
    c = (struct nm_yarn_log_context){0};
    return 0;
}

json_t *nm_yarn_log_context_to_json(const struct nm_yarn_log_context *c)
{
    json_t *o = json_object();
    int r = o ? 0 : -1;

    for (size_t i = 0; r == 0 && i < NM_ARRAY_SIZE(members); i++) {
        const char *text = *field((struct nm_yarn_log_context *)(uintptr_t)c, i);

        if (text)
            r = json_object_set_new(o, members[i].name, json_string(text));
    }
    if (r == 0)
        return o;
    json_decref(o);
    return NULL;
}

int nm_yarn_log_context_from_json(const json_t *o, struct nm_yarn_log_context *ret)
{
    _cleanup_(nm_yarn_log_context_donep) struct nm_yarn_log_context c = {0};
    int r = json_is_object(o) ? 0 : -EBADMSG;

    for (size_t i = 0; r == 0 && i < NM_ARRAY_SIZE(members); i++) {
        const json_t *text = json_object_get(o, members[i].name);

        if (text)
            r = json_is_string(text) ? copy(json_string_value(text), field(&c, i)) : -EBADMSG;
    }
    if (r < 0)
        return r;
    *ret = c;
    c = (struct nm_yarn_log_context){0};
    return 0;
}
