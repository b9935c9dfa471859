/* SPDX-License-Identifier: Apache-2.0 */

#include "rpc/local/client/request-body.h"

#include <assert.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "util/json-text.h"
#include "util/macros.h"

/* A body in the making. After the first error the functions below add no more members. A string that jansson doesn't
 * accept counts as invalid UTF-8: jansson doesn't tell this apart from missing memory. */
struct body {
    json_t *json;
    int error;
    struct nm_client_bad_string bad;
};

static void reject(struct body *b, const char *what, const char *string)
{
    b->error = -EILSEQ;
    b->bad = (struct nm_client_bad_string){what, string};
}

/* Adds a member, and takes over the reference to its value. */
static void set(struct body *b, const char *member, json_t *value)
{
    if (b->error == 0 && json_object_set_new(b->json, member, value) < 0)
        b->error = -ENOMEM;
    else if (b->error != 0)
        json_decref(value);
}

static void set_string(struct body *b, const char *member, const char *value)
{
    json_t *j = value ? json_string(value) : NULL;

    if (j)
        set(b, member, j);
    else if (value && b->error == 0)
        reject(b, member, value);
}

static void set_number(struct body *b, const char *member, uint64_t value)
{
    if (value > 0)
        set(b, member, json_integer((json_int_t)value));
}

static void set_flag(struct body *b, const char *member, bool value)
{
    if (value)
        set(b, member, json_true());
}

/* Adds the command's words as separate elements. No shell interprets them before execve(). */
static void set_argv(struct body *b, const char *const *argv)
{
    json_t *words = json_array();

    set(b, "command", words);
    for (; b->error == 0 && *argv; argv++)
        if (json_array_append_new(words, json_string(*argv)) < 0)
            reject(b, "the argument", *argv);
}

/* Adds one variable. The string is split at the first '=', because a value may contain '='. */
static void set_variable(struct body *b, json_t *env, const char *string)
{
    const char *equals = strchr(string, '=');
    _cleanup_free_ char *name = NULL;

    assert(equals);
    name = strndup(string, (size_t)(equals - string));
    if (!name)
        b->error = -ENOMEM;
    else if (json_object_set_new(env, name, json_string(equals + 1)) < 0)
        reject(b, "the environment variable", string);
}

static void set_env(struct body *b, const struct nm_client_command *c)
{
    bool has_term = c->term && *c->term;
    json_t *env;

    if (c->n_env == 0 && !has_term)
        return;
    env = json_object();
    set(b, "env", env);
    if (b->error == 0 && has_term && json_object_set_new(env, "TERM", json_string(c->term)) < 0)
        reject(b, "TERM", c->term);
    for (size_t i = 0; b->error == 0 && i < c->n_env; i++)
        set_variable(b, env, c->env[i]);
}

static void set_surroundings(struct body *b, const struct nm_client_command *c)
{
    set_env(b, c);
    set_number(b, "rows", c->rows);
    set_number(b, "columns", c->columns);
}

/* jansson has no decimal type, but thousandths of a vcore are still exact after conversion to a double and back with 12
 * digits. */
static int finish(struct body *b, char **ret, struct nm_client_bad_string *ret_bad)
{
    char *text = b->error == 0 ? nm_json_text(b->json, JSON_COMPACT | JSON_REAL_PRECISION(12)) : NULL;

    json_decref(b->json);
    if (text)
        *ret = text;
    else if (b->error == -EILSEQ)
        *ret_bad = b->bad;
    return text ? 0 : b->error != 0 ? b->error : -ENOMEM;
}

int nm_client_submit_body(const struct nm_client_submit *s, char **ret, struct nm_client_bad_string *ret_bad)
{
    struct body b = {.json = json_object()};

    set(&b, "execution_type", json_string(s->opportunistic ? "OPPORTUNISTIC" : "GUARANTEED"));
    set_argv(&b, s->command.argv);
    set_number(&b, "memory_bytes", s->memory_bytes);
    if (s->vcores_milli > 0)
        set(&b, "vcores", json_real((double)s->vcores_milli / 1000));
    set_number(&b, "min_runtime_usec", s->min_runtime_usec);
    set_number(&b, "expected_usec", s->expected_usec);
    set_flag(&b, "replace", s->replace);
    set_flag(&b, "exempt", s->exempt);
    set_flag(&b, "allow_new_privs", s->allow_new_privs);
    set_string(&b, "name", s->name);
    set_string(&b, "app", s->app);
    set_string(&b, "user", s->user);
    set_string(&b, "workdir", s->workdir);
    set_surroundings(&b, &s->command);
    return finish(&b, ret, ret_bad);
}

int nm_client_exec_body(const struct nm_client_exec *e, char **ret, struct nm_client_bad_string *ret_bad)
{
    struct body b = {.json = json_object()};

    set_flag(&b, "input", e->input);
    set_argv(&b, e->command.argv);
    set_surroundings(&b, &e->command);
    return finish(&b, ret, ret_bad);
}
