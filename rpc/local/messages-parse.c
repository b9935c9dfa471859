/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Conversion of JSON to requests. Each kind of request has a table of its members. One loop checks a body against the
 * table, so errors for unknown members, wrong types and numbers out of range are the same in all requests. The manager
 * checks whether a value is currently possible, for instance whether a name is free or a request fits on the node.
 */

#include "rpc/local/messages.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>

#include "rpc/local/json-make.h"
#include "rpc/local/json-scan.h"
#include "util/json-text.h"

enum field_kind {
    FIELD_STRING,  /* const char * */
    FIELD_BYTES,   /* uint64_t, at least 1 */
    FIELD_USEC,    /* uint64_t */
    FIELD_VCORES,  /* uint32_t, thousandths */
    FIELD_CELLS,   /* uint16_t, at least 1 */
    FIELD_BOOL,    /* bool */
    FIELD_TYPE,    /* enum nm_execution_type */
    FIELD_COMMAND, /* checked and taken by the caller */
    FIELD_ENV,     /* checked and taken by the caller, too */
};

struct field {
    const char *name;
    enum field_kind kind;
    size_t offset;
};

/* Descriptions of allowed values, for messages. */
static const char *const allowed[] = {
    [FIELD_STRING] = "a string",
    [FIELD_BYTES] = "a whole number of bytes from 1 to 9223372036854775807",
    [FIELD_USEC] = "a whole number of microseconds from 0 to 9223372036854775807",
    [FIELD_VCORES] = "a number of vcores from 0.001 to 1000000 with at most three decimals",
    [FIELD_CELLS] = "a whole number from 1 to 65535",
    [FIELD_BOOL] = "true or false",
    [FIELD_TYPE] = "\"GUARANTEED\" or \"OPPORTUNISTIC\"",
    [FIELD_COMMAND] = "an array of one or more strings, the program first",
    [FIELD_ENV] = "an object of strings: {\"NAME\": \"value\"}",
};

/* Strings point into the body, which the result keeps a reference to. */
static const struct field submit_fields[] = {
    {"command", FIELD_COMMAND, 0},
    {"execution_type", FIELD_TYPE, offsetof(struct nm_submit, type)},
    {"name", FIELD_STRING, offsetof(struct nm_submit, name)},
    {"app", FIELD_STRING, offsetof(struct nm_submit, app)},
    {"memory_bytes", FIELD_BYTES, offsetof(struct nm_submit, memory_bytes)},
    {"vcores", FIELD_VCORES, offsetof(struct nm_submit, vcores_milli)},
    {"env", FIELD_ENV, 0},
    {"workdir", FIELD_STRING, offsetof(struct nm_submit, workdir)},
    {"user", FIELD_STRING, offsetof(struct nm_submit, user)},
    {"min_runtime_usec", FIELD_USEC, offsetof(struct nm_submit, min_runtime_usec)},
    {"expected_usec", FIELD_USEC, offsetof(struct nm_submit, expected_usec)},
    {"replace", FIELD_BOOL, offsetof(struct nm_submit, replace)},
    {"exempt", FIELD_BOOL, offsetof(struct nm_submit, exempt)},
    {"allow_new_privs", FIELD_BOOL, offsetof(struct nm_submit, allow_new_privs)},
    {"rows", FIELD_CELLS, offsetof(struct nm_submit, rows)},
    {"columns", FIELD_CELLS, offsetof(struct nm_submit, columns)},
};

static const struct field exec_fields[] = {
    {"command", FIELD_COMMAND, 0},
    {"env", FIELD_ENV, 0},
    {"input", FIELD_BOOL, offsetof(struct nm_exec, input)},
    {"rows", FIELD_CELLS, offsetof(struct nm_exec, rows)},
    {"columns", FIELD_CELLS, offsetof(struct nm_exec, columns)},
};

static const struct field update_fields[] = {
    {"memory_bytes", FIELD_BYTES, offsetof(struct nm_messages_update, memory_bytes)},
    {"vcores", FIELD_VCORES, offsetof(struct nm_messages_update, vcores_milli)},
};

static const struct field kill_fields[] = {
    {"now", FIELD_BOOL, offsetof(struct nm_messages_kill, now)},
};

static const struct field drain_fields[] = {
    {"deadline_usec", FIELD_USEC, offsetof(struct nm_drain_order, deadline_usec)},
    {"kill_opportunistic", FIELD_BOOL, offsetof(struct nm_drain_order, kill_opportunistic)},
    {"until_restart", FIELD_BOOL, offsetof(struct nm_drain_order, until_restart)},
};

/* Reports an invalid value, formatted as JSON. */
static int bad_value(struct nm_problem *p, const char *thing, const json_t *v, const char *what)
{
    _cleanup_free_ char *dump = nm_json_text(v, NM_MESSAGES_DUMP_FLAGS | JSON_ENCODE_ANY);
    const char *shown = json_is_string(v) ? json_string_value(v) : dump ? dump : "";
    char text[sizeof p->value];

    nm_messages_shorten(text, sizeof text, shown);
    if (json_is_string(v))
        return nm_messages_problem(p, NM_AGENT_E_INVALID, thing, text, "%s must be %s, not \"%s\".",
                                   thing, what, text);
    return nm_messages_problem(p, NM_AGENT_E_INVALID, thing, text, "%s must be %s, not %s.", thing,
                               what, text);
}

static int take_vcores(const json_t *v, uint32_t *ret)
{
    double milli = json_is_number(v) ? json_number_value(v) * 1000.0 : 0.0,
           whole = nearbyint(milli);

    /* 0.001 has no exact binary representation: accept the rounding error, but not a fourth decimal. */
    if (!(whole >= 1.0 && whole <= 1e9) || fabs(milli - whole) > 1e-6 * whole + 1e-9)
        return -EINVAL;
    *ret = (uint32_t)whole;
    return 0;
}

static int take_integer(const json_t *v, json_int_t min, uint64_t *ret)
{
    if (!json_is_integer(v) || json_integer_value(v) < min)
        return -EINVAL;
    *ret = (uint64_t)json_integer_value(v);
    return 0;
}

/* Stores v in the field. Returns -EINVAL if the field doesn't allow the value. */
static int take_field(const struct field *f, const json_t *v, void *to)
{
    void *at = (char *)to + f->offset;
    uint64_t n;

    switch (f->kind) {
    case FIELD_STRING:
        if (!json_is_string(v))
            return -EINVAL;
        *(const char **)at = json_string_value(v);
        return 0;
    case FIELD_BYTES:
        return take_integer(v, 1, at);
    case FIELD_USEC:
        return take_integer(v, 0, at);
    case FIELD_VCORES:
        return take_vcores(v, at);
    case FIELD_CELLS:
        if (take_integer(v, 1, &n) < 0 || n > UINT16_MAX)
            return -EINVAL;
        *(uint16_t *)at = (uint16_t)n;
        return 0;
    case FIELD_BOOL:
        if (!json_is_boolean(v))
            return -EINVAL;
        *(bool *)at = json_is_true(v);
        return 0;
    case FIELD_TYPE:
        return json_is_string(v) ? nm_execution_type_from_string(json_string_value(v), at)
                                 : -EINVAL;
    default:
        return 0;
    }
}

static const struct field *find_field(const struct field *fields, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (nm_streq(fields[i].name, name))
            return &fields[i];
    return NULL;
}

static int unknown_member(struct nm_problem *p, const char *name, const struct field *fields,
                          size_t n)
{
    char list[256] = "", shown[64];
    size_t len = 0;

    for (size_t i = 0; i < n && len < sizeof list; i++)
        len += (size_t)snprintf(list + len, sizeof list - len, "%s%s", i > 0 ? ", " : "",
                                fields[i].name);
    nm_messages_shorten(shown, sizeof shown, name);
    if (n == 0)
        return nm_messages_problem(p, NM_AGENT_E_INVALID, "body", name,
                                   "This request takes no members, but has \"%s\".", shown);
    return nm_messages_problem(p, NM_AGENT_E_INVALID, "body", name,
                               "Unknown member \"%s\"; this request allows %s.", shown,
                               list);
}

static int take_fields(json_t *body, const struct field *fields, size_t n, void *to,
                       struct nm_problem *p)
{
    const char *name;
    json_t *v;

    json_object_foreach(body, name, v)
    {
        const struct field *f = find_field(fields, n, name);
        if (!f)
            return unknown_member(p, name, fields, n);
        if (take_field(f, v, to) < 0)
            return bad_value(p, f->name, v, allowed[f->kind]);
    }
    return 0;
}

/* Returns the allowed values of a member, taken from any kind of request that has a member with this name. NULL: the
 * member is unknown. */
static const char *allowed_anywhere(const char *name)
{
    const struct field *f = find_field(submit_fields, NM_ARRAY_SIZE(submit_fields), name);

    if (!f)
        f = find_field(drain_fields, NM_ARRAY_SIZE(drain_fields), name);
    return f ? allowed[f->kind] : NULL;
}

/* Reports a number that is too large for any type and at which the parser stops. The message contains member and value,
 * like the messages for other invalid values. Both are found by searching backwards from the end of the number. */
static int too_large(const char *text, size_t end, struct nm_problem *p)
{
    size_t start = end, name_end;
    char number[64], name[32] = "";
    const char *what;

    while (start > 0 && (isalnum((unsigned char)text[start - 1]) || strchr("+-.", text[start - 1])))
        start--;
    (void)snprintf(number, sizeof number, "%.*s", (int)NM_MIN(end - start, sizeof number),
                   text + start);
    while (start > 0 && strchr(" \t\r\n:", text[start - 1]))
        start--;
    name_end = start > 0 ? start - 1 : 0; /* index of the quote */
    for (start = name_end; start > 0 && text[start - 1] != '"';)
        start--;
    if (name_end - start < sizeof name)
        (void)snprintf(name, sizeof name, "%.*s", (int)(name_end - start), text + start);
    what = allowed_anywhere(name);
    return nm_messages_problem(p, NM_AGENT_E_INVALID, what ? name : "body", number,
                               "%s must be %s, not %s.", what ? name : "A number",
                               what ? what : "at most 9223372036854775807 if it is whole", number);
}

/* Reports a syntax error, with the last text before the position at which the parser stopped. */
static int not_json(const char *text, size_t len, const json_error_t *e, struct nm_problem *p)
{
    size_t end = e->position > 0 ? NM_MIN((size_t)e->position, len) : 0;
    size_t from = nm_sub_u64(end, 20);
    char there[32];

    if (json_error_code(e) == json_error_numeric_overflow)
        return too_large(text, end, p);
    while (from < end && ((unsigned char)text[from] & 0xc0) == 0x80)
        from++; /* don't split a character */
    (void)snprintf(there, sizeof there, "%.*s", (int)(end - from), text + from);
    if (json_error_code(e) == json_error_null_character ||
        json_error_code(e) == json_error_null_byte_in_key)
        return nm_messages_problem(p, NM_AGENT_E_INVALID, "body", there,
                                   "The body has a NUL character at line %d, column %d; a string must not contain "
                                   "\\u0000.",
                                   e->line, e->column);
    return nm_messages_problem(p, NM_AGENT_E_INVALID, "body", there,
                               "The body is not valid JSON: line %d, column %d: %s.", e->line,
                               e->column, e->text);
}

int nm_messages_measure_body(const char *text, size_t len, size_t *ret_tree_bytes,
                             struct nm_problem *ret_problem)
{
    struct nm_json_size s = nm_json_scan(text, len);

    if (s.depth > NM_JSON_DEPTH_MAX)
        return nm_messages_problem(ret_problem, NM_AGENT_E_INVALID, "body", "",
                                   "The body has nested arrays and objects, more than %u levels deep, which is the "
                                   "maximum.",
                                   NM_JSON_DEPTH_MAX);
    if (s.n_containers > NM_JSON_CONTAINERS_MAX)
        return nm_messages_problem(ret_problem, NM_AGENT_E_INVALID, "body", "",
                                   "The body has more than %u arrays and objects, which is the maximum.",
                                   NM_JSON_CONTAINERS_MAX);
    if (s.n_values > NM_JSON_VALUES_MAX)
        return nm_messages_problem(ret_problem, NM_AGENT_E_INVALID, "body", "",
                                   "The body has more than %u values, which is the maximum.",
                                   NM_JSON_VALUES_MAX);
    *ret_tree_bytes = s.tree_bytes;
    return 0;
}

/* Parses a body. An empty body counts as an empty object, so that `curl -X POST` suffices for requests without members.
 * A duplicate member is refused, because two parsers might use different ones. */
int nm_messages_parse_body(const char *text, size_t len, json_t **ret,
                           struct nm_problem *ret_problem)
{
    json_error_t e;
    json_t *j;

    assert(text || len == 0);
    j = len == 0 ? json_object()
                 : json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &e);
    /* jansson usually sets no error text if memory ran out, but always sets an error text for a syntax error. */
    if (!j && (len == 0 || !*e.text || json_error_code(&e) == json_error_out_of_memory))
        return -ENOMEM;
    if (!j)
        return not_json(text, len, &e, ret_problem);
    if (!json_is_object(j)) {
        int r = bad_value(ret_problem, "body", j, "a JSON object");
        json_decref(j);
        return r;
    }
    *ret = j;
    return 0;
}

/* ---- submit ------------------------------------------------------------------------------- */

/* Parses the command, the only mandatory member. */
static int take_command(json_t *v, const char ***ret, struct nm_problem *p)
{
    size_t n = json_is_array(v) ? json_array_size(v) : 0;
    _cleanup_free_ const char **argv = NULL;

    if (!v)
        return nm_messages_problem(p, NM_AGENT_E_INVALID, "command", "",
                                   "command is missing; it must be %s.", allowed[FIELD_COMMAND]);
    if (n == 0)
        return bad_value(p, "command", v, allowed[FIELD_COMMAND]);
    argv = calloc(n + 1, sizeof *argv);
    if (!argv)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const json_t *arg = json_array_get(v, i);
        char thing[32];
        (void)snprintf(thing, sizeof thing, "command[%zu]", i);
        if (!json_is_string(arg))
            return bad_value(p, thing, arg, "a string");
        if (i == 0 && json_string_length(arg) == 0)
            return bad_value(p, thing, arg, "the name or path of a program");
        argv[i] = json_string_value(arg);
    }
    *ret = STEAL_PTR(argv);
    return 0;
}

/* Converts the environment to the format of execve(). A name that contains '=' is refused, because it would define
 * another variable. */
static int take_env(json_t *v, char ***ret, struct nm_problem *p)
{
    char **env; /* the caller frees this array, also on failure */
    const char *name;
    size_t i = 0;
    json_t *value;

    if (!v)
        return 0;
    if (!json_is_object(v))
        return bad_value(p, "env", v, allowed[FIELD_ENV]);
    *ret = env = calloc(json_object_size(v) + 1, sizeof *env);
    if (!env)
        return -ENOMEM;
    json_object_foreach(v, name, value)
    {
        if (!*name || strchr(name, '=')) {
            char shown[64];
            nm_messages_shorten(shown, sizeof shown, name);
            return nm_messages_problem(
                p, NM_AGENT_E_INVALID, "env", name,
                "A variable's name must not be empty and must not contain '=', as '%s' does.", shown);
        }
        if (!json_is_string(value)) {
            char thing[48];
            (void)snprintf(thing, sizeof thing, "env.%s", name);
            return bad_value(p, thing, value, "a string");
        }
        if (asprintf(&env[i], "%s=%s", name, json_string_value(value)) < 0) {
            env[i] = NULL;
            return -ENOMEM;
        }
        i++;
    }
    return 0;
}

static int check_terminal(uint16_t rows, uint16_t columns, struct nm_problem *p)
{
    if ((rows > 0) == (columns > 0))
        return 0;
    return nm_messages_problem(p, NM_AGENT_E_INVALID, "rows", "",
                               "Give both rows and columns, or neither of them.");
}

/* Takes the members that submit and exec have in common. The caller frees *ret_argv and *ret_env, also on failure. */
static int take_process(json_t *body, uint16_t rows, uint16_t columns, const char ***ret_argv, char ***ret_env,
                        struct nm_problem *p)
{
    int r = check_terminal(rows, columns, p);

    if (r == 0)
        r = take_command(json_object_get(body, "command"), ret_argv, p);
    return r == 0 ? take_env(json_object_get(body, "env"), ret_env, p) : r;
}

int nm_messages_parse_submit(json_t *body, struct nm_messages_submit *ret,
                             struct nm_problem *ret_problem)
{
    struct nm_messages_submit s = {.submit = {.type = NM_GUARANTEED, .owner = "local"}};
    int r = take_fields(body, submit_fields, NM_ARRAY_SIZE(submit_fields), &s.submit, ret_problem);

    assert(json_is_object(body));
    if (r == 0)
        r = take_process(body, s.submit.rows, s.submit.columns, &s.argv, &s.env, ret_problem);
    if (r != 0) {
        nm_messages_submit_done(&s);
        return r;
    }
    s.submit.argv = s.argv;
    s.submit.env = (const char *const *)s.env;
    s.body = json_incref(body);
    *ret = s;
    return 0;
}

void nm_messages_submit_done(struct nm_messages_submit *s)
{
    for (char **e = s->env; e && *e; e++)
        free(*e);
    free(s->env);
    free(s->argv);
    json_decref(s->body);
    *s = (struct nm_messages_submit){};
}

/* ---- exec --------------------------------------------------------------------------------- */

int nm_messages_parse_exec(json_t *body, struct nm_messages_exec *ret, struct nm_problem *ret_problem)
{
    struct nm_messages_exec e = {};
    int r = take_fields(body, exec_fields, NM_ARRAY_SIZE(exec_fields), &e.exec, ret_problem);

    if (r == 0)
        r = take_process(body, e.exec.rows, e.exec.columns, &e.argv, &e.env, ret_problem);
    if (r != 0) {
        nm_messages_exec_done(&e);
        return r;
    }
    e.exec.argv = e.argv;
    e.exec.env = (const char *const *)e.env;
    *ret = e;
    return 0;
}

void nm_messages_exec_done(struct nm_messages_exec *e)
{
    for (char **v = e->env; v && *v; v++)
        free(*v);
    free(e->env);
    free(e->argv);
    *e = (struct nm_messages_exec){};
}

/* ---- the others --------------------------------------------------------------------------- */

int nm_messages_parse_update(json_t *body, struct nm_messages_update *ret,
                             struct nm_problem *ret_problem)
{
    struct nm_messages_update u = {};
    int r = take_fields(body, update_fields, NM_ARRAY_SIZE(update_fields), &u, ret_problem);

    if (r != 0)
        return r;
    if (u.memory_bytes == 0 && u.vcores_milli == 0)
        return nm_messages_problem(
            ret_problem, NM_AGENT_E_INVALID, "body", "",
            "There is nothing to change: give memory_bytes, vcores or both.");
    *ret = u;
    return 0;
}

int nm_messages_parse_kill(json_t *body, struct nm_messages_kill *ret,
                           struct nm_problem *ret_problem)
{
    struct nm_messages_kill k = {};
    int r = take_fields(body, kill_fields, NM_ARRAY_SIZE(kill_fields), &k, ret_problem);

    if (r == 0)
        *ret = k;
    return r;
}

int nm_messages_parse_drain(json_t *body, struct nm_drain_order *ret,
                            struct nm_problem *ret_problem)
{
    struct nm_drain_order d = {.deadline_usec = UINT64_MAX};
    int r = take_fields(body, drain_fields, NM_ARRAY_SIZE(drain_fields), &d, ret_problem);

    if (r == 0)
        *ret = d;
    return r;
}

/* Refuses any member, because a client that sends members to a request without any has misunderstood the request. */
int nm_messages_parse_empty(json_t *body, struct nm_problem *ret_problem)
{
    return take_fields(body, NULL, 0, NULL, ret_problem);
}
