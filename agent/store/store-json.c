/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See store-json.h. The members are the columns of the table (store-columns.c): a new column is written and read here
 * without further code.
 */

#include "agent/store/store-json.h"

#include <errno.h>

#include "agent/store/store-columns.h"
#include "util/utf8.h"

/* If jansson lacks memory, it reports invalid text, but errno is then ENOMEM from malloc(). */
int nm_store_json_parse(const char *text, size_t len, json_t **ret)
{
    json_t *j;

    errno = 0;
    j = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
    if (!j)
        return errno == ENOMEM ? -ENOMEM : -EBADMSG;
    *ret = j;
    return 0;
}

int nm_store_strv_to_json(char *const *v, json_t **ret)
{
    json_t *array = json_array();
    int r = array ? 0 : -ENOMEM;

    for (; r == 0 && v && *v; v++)
        if (json_array_append_new(array, json_string(*v)) < 0)
            r = -EILSEQ;
    if (r < 0) {
        json_decref(array);
        return r;
    }
    *ret = array;
    return 0;
}

int nm_store_strv_from_json(const json_t *array, char ***ret)
{
    size_t n = json_array_size(array);
    _cleanup_free_ const char **strings = NULL;
    char **v;

    if (!json_is_array(array))
        return -EBADMSG;
    strings = calloc(n + 1, sizeof *strings);
    if (!strings)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        strings[i] = json_string_value(json_array_get(array, i));
        if (!strings[i])
            return -EBADMSG;
    }
    v = nm_strv_pack(strings, n);
    if (!v)
        return -ENOMEM;
    *ret = v;
    return 0;
}

/* Checks what execve() and the shim require, because a damaged journal may have any content. */
bool nm_store_command_is_valid(const struct nm_command *cmd)
{
    if (!cmd->argv || !cmd->argv[0] || !cmd->env)
        return false;
    for (char **e = cmd->env; *e; e++)
        if (**e == '=' || !strchr(*e, '='))
            return false;
    return true;
}

/* ---- writing ------------------------------------------------------------- */

static int command_to_json(const struct nm_command *cmd, json_t **ret)
{
    json_t *argv = NULL, *env = NULL, *j;
    int r = nm_store_strv_to_json(cmd->argv, &argv);

    if (r >= 0)
        r = nm_store_strv_to_json(cmd->env, &env);
    if (r < 0) {
        json_decref(argv);
        return r;
    }
    j = json_pack("{s:o, s:o, s:s, s:s, s:I, s:I, s:b}", "argv", argv, "env", env, "workdir",
                  cmd->workdir ?: "", "user", cmd->user ?: "", "uid", (json_int_t)cmd->uid, "gid",
                  (json_int_t)cmd->gid, "no_new_privs", cmd->no_new_privs);
    if (!j)
        return -EILSEQ;
    *ret = j;
    return 0;
}

/* A sentence may have been cut in the middle of a character; the text before that character is kept. */
static json_t *text_to_json(const struct nm_store_column *col, const struct nm_container *c)
{
    const char *text = nm_store_column_text(col, c);

    return col->kind == NM_KIND_TEXT ? json_stringn(text, nm_utf8_prefix(text)) : json_string(text);
}

int nm_store_container_to_json(const struct nm_container *c, json_t **ret)
{
    json_t *j = json_object(), *command = NULL;
    int r = j ? command_to_json(&c->command, &command) : -ENOMEM;

    for (size_t i = 0; r >= 0 && i < nm_store_n_columns; i++) {
        const struct nm_store_column *col = &nm_store_columns[i];
        json_t *value = nm_store_kind_is_text(col->kind) ? text_to_json(col, c)
                                                         : json_integer(nm_store_column_number(col, c));

        if (json_object_set_new(j, col->name, value) < 0)
            r = -EILSEQ;
    }
    if (r >= 0 && json_object_set_new(j, "command", STEAL_PTR(command)) < 0)
        r = -ENOMEM;
    if (r < 0) {
        json_decref(command);
        json_decref(j);
        return r;
    }
    *ret = j;
    return 0;
}

/* ---- reading ------------------------------------------------------------- */

/* jansson rejects a NUL inside a text by default, so strlen() gives a string's length. */
static int command_from_json(const json_t *j, struct nm_command *cmd)
{
    const char *workdir = json_string_value(json_object_get(j, "workdir"));
    const char *user = json_string_value(json_object_get(j, "user"));
    const json_t *uid = json_object_get(j, "uid"), *gid = json_object_get(j, "gid");
    const json_t *no_new_privs = json_object_get(j, "no_new_privs");
    int r = nm_store_strv_from_json(json_object_get(j, "argv"), &cmd->argv);

    if (r >= 0)
        r = nm_store_strv_from_json(json_object_get(j, "env"), &cmd->env);
    if (r < 0)
        return r;
    if (!workdir || !user || !json_is_boolean(no_new_privs) || !json_is_integer(uid) ||
        !json_is_integer(gid))
        return -EBADMSG;
    if (json_integer_value(uid) < 0 || json_integer_value(uid) >= UINT32_MAX ||
        json_integer_value(gid) < 0 || json_integer_value(gid) >= UINT32_MAX)
        return -EBADMSG;
    cmd->uid = (uid_t)json_integer_value(uid);
    cmd->gid = (gid_t)json_integer_value(gid);
    cmd->no_new_privs = json_is_true(no_new_privs);
    cmd->workdir = strdup(workdir);
    cmd->user = strdup(user);
    if (!cmd->workdir || !cmd->user)
        return -ENOMEM;
    return nm_store_command_is_valid(cmd) ? 0 : -EBADMSG;
}

static int column_from_json(const json_t *value, const struct nm_store_column *col,
                            struct nm_container *c)
{
    if (nm_store_kind_is_text(col->kind))
        return json_is_string(value) ? nm_store_column_set_text(col, json_string_value(value), c)
                                     : -EBADMSG;
    return json_is_integer(value) ? nm_store_column_set_number(col, json_integer_value(value), c)
                                  : -EBADMSG;
}

int nm_store_container_from_json(const json_t *j, struct nm_container **ret)
{
    _cleanup_(nm_container_freep) struct nm_container *c = NULL;
    int r = nm_container_new(&c);

    for (size_t i = 0; r >= 0 && i < nm_store_n_columns; i++) {
        const json_t *value = json_object_get(j, nm_store_columns[i].name);

        if (value || !nm_store_columns[i].later) /* an older snapshot lacks the column, which then has the default of
                                                    nm_container_new() */
            r = column_from_json(value, &nm_store_columns[i], c);
    }
    if (r >= 0)
        r = command_from_json(json_object_get(j, "command"), &c->command);
    if (r < 0)
        return r;
    *ret = STEAL_PTR(c);
    return 0;
}
