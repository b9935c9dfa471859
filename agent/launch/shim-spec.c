/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Prints and parses the spec's text (see shim.h). nmd prints the text, and the shim parses it as root. So the parser
 * checks that each string ends inside the text, that no key is repeated or missing, and that each number is in its
 * range.
 */

#include "agent/launch/shim.h"

#include <assert.h>
#include <inttypes.h>
#include <limits.h>

#include "agent/launch/output.h"
#include "util/parse.h"

#define HEAD "nm-shim-spec 3"
#define END "end"
#define MAX_ERRNO 4096 /* MAX_ERRNO of the kernel, plus one */

static size_t strv_text_size(char *const *v, size_t key_len)
{
    size_t n = 0;

    for (; v && *v; v++)
        n += key_len + strlen(*v) + 1;
    return n;
}

static char *append(char *p, const char *key, const char *value)
{
    return stpcpy(stpcpy(p, key), value) + 1;
}

static char *append_number(char *p, const char *key, int64_t value)
{
    return p + sprintf(p, "%s%" PRId64, key, value) + 1;
}

static char *append_account(char *p, const struct nm_shim_account *a)
{
    p = append(p, "user=", a->name);
    p = append(p, "home=", a->home);
    p = append(p, "shell=", a->shell);
    p = append_number(p, "account_error=", a->error);
    for (size_t i = 0; i < a->n_groups; i++)
        p = append_number(p, "group=", a->groups[i]);
    return p;
}

/* Only a session's spec has these keys. */
static char *append_session(char *p, const struct nm_shim_session *s)
{
    if (s->shim_pid == 0)
        return p;
    p = append_number(p, "shim_pid=", s->shim_pid);
    p = append_number(p, "command_pid=", s->command_pid);
    p = append_number(p, "n_more=", s->n_more);
    return append(p, "input=", s->input ? "1" : "0");
}

static char *append_terminal(char *p, const struct nm_shim_options *options)
{
    if (options->rows == 0)
        return p;
    p = append_number(p, "rows=", options->rows);
    return append_number(p, "columns=", options->columns);
}

int nm_shim_spec_print(const struct nm_command *command, const struct nm_shim_account *account,
                       const struct nm_shim_options *options, char **ret, size_t *ret_size)
{
    _cleanup_free_ char *text = NULL;
    size_t size;
    char *p;

    if (!command->argv || !command->argv[0] || !command->workdir)
        return -EINVAL;
    size = 384 + strlen(account->name) + strlen(account->home) + strlen(account->shell) +
           account->n_groups * sizeof "group=4294967295" + strlen(command->workdir) +
           strv_text_size(command->argv, strlen("arg=")) +
           strv_text_size(command->env, strlen("env="));
    if (size > NM_SHIM_SPEC_MAX_BYTES)
        return -E2BIG;
    p = text = malloc(size);
    if (!text)
        return -ENOMEM;
    p = append(p, HEAD, "");
    p = append_account(p, account);
    p = append_number(p, "uid=", command->uid);
    p = append_number(p, "gid=", command->gid);
    p = append(p, "workdir=", command->workdir);
    p = append_number(p, "oom_score_adj=", options->oom_score_adj);
    p = append_number(p, "output_max=", (int64_t)NM_MIN(options->output_max_bytes, (uint64_t)INT64_MAX));
    p = append(p, "confine=", options->confine ? "1" : "0");
    p = append(p, "private_ipc=", options->private_ipc ? "1" : "0");
    p = append(p, "no_new_privs=", command->no_new_privs ? "1" : "0");
    if (options->has_input)
        p = append(p, "has_input=", "1");
    p = append_terminal(p, options);
    p = append_session(p, &options->session);
    for (char *const *v = command->argv; *v; v++)
        p = append(p, "arg=", *v);
    for (char *const *v = command->env; v && *v; v++)
        p = append(p, "env=", *v);
    p = append(p, END, "");
    *ret_size = (size_t)(p - text);
    *ret = STEAL_PTR(text);
    return 0;
}

/* The last three keys may be repeated. The seven keys before them are optional. The two keys of a terminal (rows,
 * columns) must occur together, and so must the four keys of a session. */
enum key {
    KEY_USER, KEY_HOME, KEY_SHELL, KEY_ACCOUNT_ERROR, KEY_UID, KEY_GID, KEY_WORKDIR, KEY_OOM, KEY_CONFINE,
    KEY_PRIVATE_IPC, KEY_NNP, KEY_OUTPUT, KEY_HAS_INPUT, KEY_ROWS, KEY_COLUMNS, KEY_SHIM_PID, KEY_COMMAND_PID,
    KEY_N_MORE, KEY_INPUT, KEY_GROUP, KEY_ARG, KEY_ENV, KEY_COUNT,
};
#define KEYS_OF_TERMINALS (1U << KEY_ROWS | 1U << KEY_COLUMNS)
#define KEYS_OF_SESSIONS ((1U << KEY_GROUP) - (1U << KEY_SHIM_PID))

static const char *const key_names[KEY_COUNT] = {
    "user", "home", "shell", "account_error", "uid", "gid", "workdir", "oom_score_adj", "confine",
    "private_ipc", "no_new_privs", "output_max", "has_input", "rows", "columns", "shim_pid", "command_pid",
    "n_more", "input", "group", "arg", "env",
};

static int parse_id(const char *s, uint32_t *ret)
{
    uint64_t v;

    /* UINT32_MAX is refused, because it is -1, which setresuid() takes as "do not change this id". */
    if (nm_parse_u64(s, &v) < 0 || v >= UINT32_MAX)
        return -EBADMSG;
    *ret = (uint32_t)v;
    return 0;
}

static int parse_oom_score_adj(const char *s, int *ret)
{
    bool negative = *s == '-';
    uint64_t v;

    if (nm_parse_u64(s + negative, &v) < 0 || v > 1000)
        return -EBADMSG;
    *ret = negative ? -(int)v : (int)v;
    return 0;
}

static int parse_error(const char *s, int *ret)
{
    uint64_t v;

    if (nm_parse_u64(s, &v) < 0 || v >= MAX_ERRNO)
        return -EBADMSG;
    *ret = (int)v;
    return 0;
}

static int parse_output_max(const char *s, uint64_t *ret)
{
    uint64_t v;

    if (nm_parse_u64(s, &v) < 0 || (v > 0 && v < NM_OUTPUT_MIN_BYTES))
        return -EBADMSG;
    *ret = v;
    return 0;
}

/* Parses a number up to `max`. */
static int parse_number(const char *s, uint64_t max, uint64_t *ret)
{
    return nm_parse_u64(s, ret) < 0 || *ret > max ? -EBADMSG : 0;
}

static int parse_session(enum key key, const char *value, struct nm_shim_session *s)
{
    uint64_t v = 0;
    int r;

    switch (key) {
    case KEY_SHIM_PID:
        r = parse_number(value, INT32_MAX, &v);
        s->shim_pid = (pid_t)v;
        return v > 1 ? r : -EBADMSG;
    case KEY_COMMAND_PID:
        r = parse_number(value, INT32_MAX, &v);
        s->command_pid = (pid_t)v;
        return v > 1 ? r : -EBADMSG;
    case KEY_N_MORE:
        r = parse_number(value, UINT32_MAX, &v);
        s->n_more = (uint32_t)v;
        return r;
    default:
        return nm_parse_bool(value, &s->input) < 0 ? -EBADMSG : 0;
    }
}

/* Parses the number of rows or columns of a terminal, which must be above 0. */
static int parse_cells(const char *value, uint16_t *ret)
{
    uint64_t v;

    if (parse_number(value, UINT16_MAX, &v) < 0 || v == 0)
        return -EBADMSG;
    *ret = (uint16_t)v;
    return 0;
}

static int parse_single(enum key key, char *value, struct nm_shim_spec *spec)
{
    switch (key) {
    case KEY_USER:
        spec->account.name = value;
        return 0;
    case KEY_HOME:
        spec->account.home = value;
        return 0;
    case KEY_SHELL:
        spec->account.shell = value;
        return 0;
    case KEY_ACCOUNT_ERROR:
        return parse_error(value, &spec->account.error);
    case KEY_UID:
        return parse_id(value, &spec->uid);
    case KEY_GID:
        return parse_id(value, &spec->gid);
    case KEY_WORKDIR:
        spec->workdir = value;
        return 0;
    case KEY_OOM:
        return parse_oom_score_adj(value, &spec->options.oom_score_adj);
    case KEY_CONFINE:
        return nm_parse_bool(value, &spec->options.confine) < 0 ? -EBADMSG : 0;
    case KEY_OUTPUT:
        return parse_output_max(value, &spec->options.output_max_bytes);
    case KEY_PRIVATE_IPC:
        return nm_parse_bool(value, &spec->options.private_ipc) < 0 ? -EBADMSG : 0;
    case KEY_HAS_INPUT:
        return nm_parse_bool(value, &spec->options.has_input) < 0 ? -EBADMSG : 0;
    case KEY_ROWS:
        return parse_cells(value, &spec->options.rows);
    case KEY_COLUMNS:
        return parse_cells(value, &spec->options.columns);
    case KEY_NNP:
        return nm_parse_bool(value, &spec->no_new_privs) < 0 ? -EBADMSG : 0;
    default:
        return parse_session(key, value, &spec->options.session);
    }
}

static int split(char *string, enum key *ret_key, char **ret_value)
{
    char *equals = strchr(string, '=');

    if (!equals)
        return -EBADMSG;
    for (unsigned k = 0; k < KEY_COUNT; k++)
        if (strncmp(string, key_names[k], (size_t)(equals - string)) == 0 &&
            key_names[k][equals - string] == '\0') {
            *ret_key = (enum key)k;
            *ret_value = equals + 1;
            return 0;
        }
    return -EBADMSG;
}

/* Returns the number of strings in the text, or -EBADMSG if the head or the end is wrong. */
static ssize_t count_strings(const char *text, size_t size)
{
    const char *const end = END;
    size_t n = 0;

    if (size < sizeof HEAD + sizeof END || size > NM_SHIM_SPEC_MAX_BYTES)
        return -EBADMSG;
    if (memcmp(text, HEAD, sizeof HEAD) != 0 || memcmp(text + size - sizeof END - 1, "", 1) != 0 ||
        memcmp(text + size - sizeof END, end, sizeof END) != 0)
        return -EBADMSG;
    for (size_t i = 0; i < size; i++)
        n += text[i] == '\0';
    return (ssize_t)n;
}

/* Parses a key that may be repeated. One vector has argv, NULL, env and NULL, in this order. *v is its first free
 * entry. No argument may follow the first environment variable. */
static int parse_repeated(enum key key, char *value, unsigned seen, char ***v, struct nm_shim_spec *spec)
{
    struct nm_shim_account *a = &spec->account;

    if (key == KEY_GROUP)
        return parse_id(value, &a->groups[a->n_groups++]);
    if (key == KEY_ARG && (seen & (1U << KEY_ENV)))
        return -EBADMSG;
    if (key == KEY_ENV && !(seen & (1U << KEY_ENV)))
        *(*v)++ = NULL;
    *(*v)++ = value;
    return 0;
}

/* Returns false if some keys of the bit mask `keys` are present and others are missing. */
static bool are_together(unsigned seen, unsigned keys)
{
    return (seen & keys) == 0 || (seen & keys) == keys;
}

static int parse_strings(char *text, size_t size, struct nm_shim_spec *spec)
{
    unsigned seen = 0;
    char **v = spec->vector;

    for (char *s = text + sizeof HEAD; s < text + size - sizeof END; s += strlen(s) + 1) {
        char *value;
        enum key key;

        if (split(s, &key, &value) < 0)
            return -EBADMSG;
        if (key < KEY_GROUP && (seen & (1U << key)))
            return -EBADMSG;
        s = value; /* continue behind the value in the next step; a value may be any text without NUL */
        if ((key < KEY_GROUP ? parse_single(key, value, spec)
                             : parse_repeated(key, value, seen, &v, spec)) < 0)
            return -EBADMSG;
        seen |= 1U << key;
    }
    if (!(seen & (1U << KEY_ENV)))
        *v++ = NULL;
    *v = NULL;
    if (!are_together(seen, KEYS_OF_SESSIONS) || !are_together(seen, KEYS_OF_TERMINALS))
        return -EBADMSG;
    /* a terminal requires a connection to its user */
    if (spec->options.rows > 0 && !spec->options.has_input && spec->options.session.shim_pid == 0)
        return -EBADMSG;
    /* treat the optional keys as present; all other keys are required */
    seen |= KEYS_OF_SESSIONS | KEYS_OF_TERMINALS | 1U << KEY_HAS_INPUT | 1U << KEY_GROUP | 1U << KEY_ENV;
    return seen == (1U << KEY_COUNT) - 1 ? 0 : -EBADMSG;
}

int nm_shim_spec_parse(char *text, size_t size, struct nm_shim_spec *ret)
{
    struct nm_shim_spec spec = {0};
    ssize_t n = count_strings(text, size);

    assert(text && ret);
    if (n < 0)
        return (int)n;
    spec.vector = calloc((size_t)n + 2, sizeof *spec.vector);
    spec.account.groups = calloc((size_t)n, sizeof *spec.account.groups);
    if (!spec.vector || !spec.account.groups) {
        nm_shim_spec_done(&spec);
        return -ENOMEM;
    }
    if (parse_strings(text, size, &spec) < 0 || !*spec.account.name || !*spec.vector[0]) {
        nm_shim_spec_done(&spec);
        return -EBADMSG;
    }
    spec.argv = spec.env = spec.vector;
    while (*spec.env)
        spec.env++;
    spec.env++;
    for (n = 0; spec.env[n];)
        n++;
    if (spec.options.session.n_more > (uint64_t)n) {
        nm_shim_spec_done(&spec);
        return -EBADMSG;
    }
    *ret = spec;
    return 0;
}

void nm_shim_spec_done(struct nm_shim_spec *spec)
{
    free(spec->vector);
    free(spec->account.groups);
    *spec = (struct nm_shim_spec){0};
}
