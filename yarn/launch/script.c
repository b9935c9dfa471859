/* SPDX-License-Identifier: Apache-2.0 */

/* See script.h. */

#include "yarn/launch/script.h"

#include <assert.h>
#include <stdio.h>

#include "util/error.h"

/* ---- parts of a script ------------------------------------------------------------------------ */

/* Writes a word in single quotes, within which the shell expands nothing. Only a single quote needs an escape. */
static void put_quoted(FILE *out, const char *word, size_t size)
{
    fputc('\'', out);
    for (size_t i = 0; i < size; i++)
        if (word[i] == '\'')
            fputs("'\\''", out);
        else
            fputc(word[i], out);
    fputc('\'', out);
}

/* Writes the first lines of the script. They redirect the script's output to prelaunch.out and prelaunch.err. Most of
 * this output is error messages of bash. */
static void put_head(FILE *out, const char *log_dir)
{
    fputs("#!/bin/bash\n\nset -o pipefail -e\n", out);
    fprintf(out, "export PRELAUNCH_OUT=\"%s/prelaunch.out\"\nexec >\"${PRELAUNCH_OUT}\"\n", log_dir);
    fprintf(out, "export PRELAUNCH_ERR=\"%s/prelaunch.err\"\nexec 2>\"${PRELAUNCH_ERR}\"\n", log_dir);
}

static bool is_among(const char *name, const struct nm_yarn_env *env, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (nm_streq(env[i].name, name))
            return true;
    return false;
}

/* Writes the inherited variables. Each applies only if neither the application nor bash's startup sets it. */
static void put_inherited(FILE *out, const struct nm_yarn_launch *l)
{
    for (size_t i = 0; i < l->n_inherited; i++)
        if (!is_among(l->inherited[i].name, l->asked, l->n_asked))
            fprintf(out, "export %s=${%s:-\"%s\"}\n", l->inherited[i].name, l->inherited[i].name,
                    l->inherited[i].value);
}

/* Writes the links. nmd has made most of them before the start, since each ln is a process that delays the command. The
 * shell tests without a process whether a link is missing, for example because an earlier run of the container has
 * removed it. A name that is a link to another file is replaced. If that file is a directory, ln would make the new
 * link inside this directory without the option -n. */
static void put_links(FILE *out, const struct nm_yarn_launch *l)
{
    for (size_t i = 0; i < l->n_links; i++) {
        const char *name = l->links[i].name, *slash = strrchr(name, '/'), *target = l->links[i].target;

        fputs("[[ ", out);
        put_quoted(out, name, strlen(name));
        fputs(" -ef ", out);
        put_quoted(out, target, strlen(target));
        fputs(" ]] || { ", out);
        if (slash) {
            fputs("mkdir -p -- ", out);
            put_quoted(out, name, (size_t)(slash - name));
            fputs("; ", out);
        }
        fputs("ln -sfn -- ", out);
        put_quoted(out, target, strlen(target));
        fputc(' ', out);
        put_quoted(out, name, strlen(name));
        fputs("; }\n", out);
    }
}

/* Writes a command that lists the working directory in the logs, in the same place as in Hadoop. The listing follows
 * links, so that it shows the contents of resources. A failure is ignored, since the disk may be full. */
static void put_list(FILE *out, const struct nm_yarn_launch *l)
{
    put_quoted(out, l->lister, strlen(l->lister));
    fprintf(out, " --list-files . >\"%s/directory.info\" 2>&1 || :\n", l->markers.log_dir);
}

/* ---- variables of the application --------------------------------------------------------- */

struct asked {
    struct nm_yarn_env *env;
    char **values; /* the strings that env points to */
    size_t n;
};

static void asked_done(struct asked *a)
{
    for (size_t i = 0; i < a->n; i++)
        free(a->values[i]);
    free(a->values);
    free(a->env);
}

/* Expands the variables of the application, except those that only the node may set. */
static int expand_asked(const struct nm_yarn_launch *l, struct asked *a, char **ret_message)
{
    a->env = calloc(l->n_asked + 1, sizeof *a->env);
    a->values = calloc(l->n_asked + 1, sizeof *a->values);
    if (!a->env || !a->values)
        return -ENOMEM;
    for (size_t i = 0; i < l->n_asked; i++) {
        const char *name = l->asked[i].name;
        int r;

        if (!nm_yarn_env_is_name(name))
            return nm_fail(ret_message, -EINVAL,
                           "The environment variable '%.80s' has an invalid name: use letters, digits and '_', and no "
                           "digit at the beginning",
                           name);
        if (is_among(name, l->node, l->n_node))
            continue;
        if ((r = nm_yarn_expand(l->asked[i].value, &l->markers, &a->values[a->n])) < 0)
            return r;
        a->env[a->n] = (struct nm_yarn_env){name, a->values[a->n]};
        a->n++;
    }
    return nm_yarn_env_order(a->env, a->n);
}

static void put_env(FILE *out, const struct nm_yarn_env *env, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fprintf(out, "export %s=\"%s\"\n", env[i].name, env[i].value);
}

/* Writes the command as an argument of bash -c, because the command may contain redirections and variables. */
static int put_command(FILE *out, const struct nm_yarn_launch *l)
{
    assert(l->command && l->command[0]);
    fputs("exec /bin/bash -c \"", out);
    for (size_t i = 0; l->command[i]; i++) {
        _cleanup_free_ char *word = NULL;
        int r = nm_yarn_expand(l->command[i], &l->markers, &word);

        if (r < 0)
            return r;
        fprintf(out, "%s%s", i > 0 ? " " : "", word);
    }
    fputs("\"\n", out);
    return 0;
}

/* ---- the script --------------------------------------------------------------------------- */

static int put_script(FILE *out, const struct nm_yarn_launch *l, char **ret_message)
{
    _cleanup_(asked_done) struct asked a = {0};
    int r = expand_asked(l, &a, ret_message);

    if (r < 0)
        return r;
    put_head(out, l->markers.log_dir);
    put_inherited(out, l);
    put_env(out, l->node, l->n_node);
    put_env(out, a.env, a.n);
    put_links(out, l);
    if (l->lister)
        put_list(out, l);
    return put_command(out, l);
}

int nm_yarn_launch_script(const struct nm_yarn_launch *l, char **ret, char **ret_message)
{
    _cleanup_free_ char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    int r;

    if (!out)
        return -ENOMEM;
    r = put_script(out, l, ret_message);
    if (fclose(out) != 0 && r >= 0)
        r = -ENOMEM;
    if (r < 0)
        return r;
    *ret = STEAL_PTR(text);
    return 0;
}
