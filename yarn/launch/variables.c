/* SPDX-License-Identifier: Apache-2.0 */

/* See variables.h. Names and values are those of Hadoop 3.4.2's ContainerLaunch. */

#include "yarn/launch/variables.h"

#include <inttypes.h>

#include "util/parse.h"

#define NODES_OWN 17 /* maximum number of variables, without those of auxiliary services */
#define FIRST_JAVA_WITH_OPENS 17

static const char opens[] = "--add-opens=java.base/java.lang=ALL-UNNAMED "
                            "--add-exports=java.base/sun.net.dns=ALL-UNNAMED "
                            "--add-exports=java.base/sun.net.util=ALL-UNNAMED";

/* ---- the node's variables ----------------------------------------------------------------- */

/* Returns a comma-separated list of the good directories. `rest` is appended to each directory. */
static char *list_dirs(struct nm_arena *arena, const struct nm_yarn_dirs *dirs, const char *rest)
{
    char *list = nm_arena_print(arena, "%s", "");

    for (size_t i = 0; list && i < dirs->n; i++)
        if (dirs->all[i].is_good)
            list = nm_arena_print(arena, "%s%s%s/%s", list, *list ? "," : "", dirs->all[i].name, rest);
    return list;
}

static int add(struct nm_yarn_env *env, size_t *n, const char *name, const char *value)
{
    if (!name || !value)
        return -ENOMEM;
    env[(*n)++] = (struct nm_yarn_env){name, value};
    return 0;
}

/* Adds the variables that contain the paths of files that the node has prepared. */
static int put_paths(const struct nm_yarn_variable_sources *s, const struct nm_yarn_task *t, struct nm_arena *a,
                     const char *work, struct nm_yarn_env *env, size_t *n)
{
    const char *user_dir = nm_arena_print(a, "usercache/%s/", t->submitter);
    const char *app_dir = nm_arena_print(a, "usercache/%s/appcache/%s", t->submitter, t->application);
    const char *log_dir = nm_arena_print(a, "%s/%s", t->application, t->container);
    int r = user_dir && app_dir && log_dir ? 0 : -ENOMEM;

    if (r == 0)
        r = add(env, n, "HADOOP_TOKEN_FILE_LOCATION", nm_arena_print(a, "%s/container_tokens", work));
    if (r == 0)
        r = add(env, n, "LOCAL_DIRS", list_dirs(a, s->local, app_dir));
    if (r == 0)
        r = add(env, n, "LOCAL_USER_DIRS", list_dirs(a, s->local, user_dir));
    if (r == 0)
        r = add(env, n, "LOG_DIRS", list_dirs(a, s->log, log_dir));
    if (r == 0)
        r = add(env, n, "HOME", s->settings->user_home_dir);
    return r == 0 ? add(env, n, "PWD", work) : r;
}

static int put_services(const struct nm_yarn_task *t, struct nm_arena *a, struct nm_yarn_env *env, size_t *n)
{
    for (size_t i = 0; i < t->n_services; i++) {
        const ProtobufCBinaryData *value = &t->services[i]->value;
        int r = add(env, n, nm_arena_print(a, "NM_AUX_SERVICE_%s", t->services[i]->key),
                    nm_arena_base64(a, (struct nm_bytes){value->data, value->len}));

        if (r < 0)
            return r;
    }
    return 0;
}

/* Returns a comma-separated list of the indexes, or of the numbers from 0 with `renumbers`. */
static char *list_gpus(struct nm_arena *a, const struct nm_yarn_gpu_set *g, bool renumbers)
{
    char text[4 * NM_YARN_GPUS_MAX + 1] = "";

    for (size_t i = 0, n = 0; i < g->n; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%u", i > 0 ? "," : "",
                              renumbers ? (unsigned)i : g->indexes[i]);
    return nm_arena_print(a, "%s", text);
}

/* Adds the variables that tell CUDA and NVIDIA's container runtime which GPUs to use. CUDA numbers only the GPUs that
 * the process can open. So in an isolated container its numbers begin with 0. Otherwise they are nvidia-smi's indexes,
 * if CUDA sorts the GPUs as nvidia-smi does. */
static int put_gpus(const struct nm_yarn_gpu_set *g, struct nm_arena *a, struct nm_yarn_env *env, size_t *n)
{
    int r = 0;

    if (!g->is_set)
        return 0;
    if (g->n > 0)
        r = add(env, n, "CUDA_DEVICE_ORDER", "PCI_BUS_ID");
    if (r == 0)
        r = add(env, n, "CUDA_VISIBLE_DEVICES", list_gpus(a, g, g->isolated));
    return r == 0 ? add(env, n, "NVIDIA_VISIBLE_DEVICES", g->n > 0 ? list_gpus(a, g, false) : "void") : r;
}

/* Adds the variables of the node. USER is the submitter, even if the container runs as another account, because
 * Hadoop's clients act on behalf of the submitter. */
static int put_node(const struct nm_yarn_variable_sources *s, const struct nm_yarn_task *t, struct nm_arena *a,
                    const char *work, struct nm_yarn_launch *l)
{
    struct nm_yarn_env *env = nm_arena_alloc(a, (NODES_OWN + t->n_services) * sizeof *env);
    size_t n = 0;
    int r = env ? 0 : -ENOMEM;

    if (r == 0)
        r = add(env, &n, "CONTAINER_ID", t->container);
    if (r == 0)
        r = add(env, &n, "NM_HOST", t->node_host);
    if (r == 0)
        r = add(env, &n, "NM_PORT", nm_arena_print(a, "%" PRId32, t->node_port));
    if (r == 0)
        r = add(env, &n, "NM_HTTP_PORT", nm_arena_print(a, "%" PRId32, t->web_port));
    if (r == 0)
        r = add(env, &n, "USER", t->submitter);
    if (r == 0)
        r = add(env, &n, "LOGNAME", t->submitter);
    if (r == 0)
        r = add(env, &n, "LOCALIZATION_COUNTERS", s->counters);
    if (r == 0)
        r = add(env, &n, "JVM_PID", "$$");
    if (r == 0)
        r = put_paths(s, t, a, work, env, &n);
    if (r == 0)
        r = put_gpus(&t->gpus, a, env, &n);
    if (r == 0)
        r = put_services(t, a, env, &n);
    l->node = env;
    l->n_node = n;
    return r;
}

/* ---- variables of the application and the administrator ---------------------------------- */

static int put_asked(const Yarn__LaunchContext *c, struct nm_arena *a, size_t room, struct nm_yarn_env **ret,
                     size_t *ret_n)
{
    struct nm_yarn_env *env = nm_arena_alloc(a, (c->n_environment + room + 1) * sizeof *env);

    *ret_n = 0;
    if (!env)
        return -ENOMEM;
    for (size_t i = 0; i < c->n_environment; i++)
        if (c->environment[i]->key)
            env[(*ret_n)++] = (struct nm_yarn_env){c->environment[i]->key, c->environment[i]->value ?: ""};
    *ret = env;
    return 0;
}

/* Puts the administrator's directories at the front of PATH. If PATH isn't set, $PATH stands for the shell's initial
 * value. */
static int force_path(const char *dirs, struct nm_arena *a, struct nm_yarn_env *env, size_t *n)
{
    struct nm_yarn_env *there = nm_yarn_env_find(env, *n, "PATH");
    const char *value = nm_arena_print(a, "%s:%s", dirs, there && *there->value ? there->value : "$PATH");

    if (!*dirs)
        return 0;
    if (!value)
        return -ENOMEM;
    if (there)
        there->value = value;
    else
        env[(*n)++] = (struct nm_yarn_env){"PATH", value};
    return 0;
}

static int put_inherited(const struct nm_yarn_settings *s, struct nm_arena *a, struct nm_yarn_launch *l)
{
    struct nm_yarn_env *env;
    size_t n = 0;

    while (s->env_whitelist[n])
        n++;
    env = nm_arena_alloc(a, (n + 1) * sizeof *env);
    if (!env)
        return -ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const char *name = s->env_whitelist[i], *value = nm_yarn_env_is_name(name) ? getenv(name) : NULL;

        if (value)
            env[l->n_inherited++] = (struct nm_yarn_env){name, value};
    }
    l->inherited = env;
    return 0;
}

/* ---- command ------------------------------------------------------------------------------ */

static int put_command(const Yarn__LaunchContext *c, struct nm_arena *a, struct nm_yarn_launch *l, char **ret_message)
{
    const char **words;

    if (c->n_command == 0)
        return nm_fail(ret_message, -EINVAL, "The container has no command");
    words = nm_arena_alloc(a, (c->n_command + 1) * sizeof *words);
    if (!words)
        return -ENOMEM;
    memcpy(words, c->command, c->n_command * sizeof *words);
    words[c->n_command] = NULL;
    l->command = words;
    return 0;
}

int nm_yarn_variables(const struct nm_yarn_variable_sources *s, const struct nm_yarn_task *t, struct nm_arena *arena,
                      struct nm_yarn_launch *ret, char **ret_message)
{
    const char *work = nm_arena_print(arena, "%s/usercache/%s/appcache/%s/%s", t->dirs.local_dir, t->submitter,
                                      t->application, t->container);
    const char *log_dir = nm_arena_print(arena, "%s/%s/%s", t->dirs.log_dir, t->application, t->container);
    struct nm_yarn_launch l = {
        .lister = s->settings->debug_info && s->lister && *s->lister == '/' ? s->lister : NULL,
        .markers = {.log_dir = log_dir, .add_opens = s->java_version >= FIRST_JAVA_WITH_OPENS ? opens : ""}};
    struct nm_yarn_env *asked = NULL;
    int r = work && log_dir ? put_command(t->context, arena, &l, ret_message) : -ENOMEM;

    if (r == 0)
        r = put_node(s, t, arena, work, &l);
    if (r == 0)
        r = put_asked(t->context, arena, nm_yarn_admin_env_room(s->settings) + 1, &asked, &l.n_asked);
    if (r == 0)
        r = nm_yarn_admin_env_put(s->settings, arena, asked, &l.n_asked);
    if (r == 0)
        r = force_path(s->settings->force_path, arena, asked, &l.n_asked);
    if (r == 0)
        r = put_inherited(s->settings, arena, &l);
    if (r < 0)
        return r;
    l.asked = asked;
    *ret = l;
    return 0;
}

/* Parses JAVA_VERSION="17.0.10" or "1.8.0_392". */
int64_t nm_yarn_java_version(const char *release)
{
    static const char key[] = "JAVA_VERSION=\"";
    const char *at = strstr(release, key);
    uint64_t version;

    if (!at)
        return 0;
    at += sizeof key - 1;
    if (strncmp(at, "1.", 2) == 0)
        at += 2;
    return nm_parse_digits(&at, &version) == 0 && version < 1000 ? (int64_t)version : 0;
}
