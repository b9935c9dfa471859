/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Makes the environment of a command. A container's command gets the account's variables and the requested variables. A
 * session gets the current environment of the container's command: for a YARN application it differs from the shim's
 * spec, since the application's script sets most variables and then becomes the command. The shim reads this
 * environment with the user's rights from inside the container's namespaces, so the user gains no access to further
 * data. The user controls the text, so the shim relies only on its length.
 */

#include "shim/shim-internal.h"

#include "util/fileio.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define N_DEFAULTS 5
#define ENVIRON_MAX ((size_t)NM_SHIM_SPEC_MAX_BYTES / 2)

static const char *find(char *const *env, const char *name, size_t len)
{
    for (; *env; env++)
        if (strncmp(*env, name, len) == 0 && (*env)[len] == '=')
            return *env + len + 1;
    return NULL;
}

const char *nm_shim_env_find(char *const *env, const char *name)
{
    return find(env, name, strlen(name));
}

/* Makes the account's variables, unless the spec has them, and then the spec's variables. */
static int make_new(const struct nm_shim_spec *spec, char ***ret)
{
    const struct nm_shim_account *a = &spec->account;
    const char *const defaults[N_DEFAULTS][2] = {
        {"PATH", DEFAULT_PATH}, {"HOME", a->home},   {"USER", a->name},
        {"LOGNAME", a->name},   {"SHELL", a->shell},
    };
    char **env = calloc(NM_STRV_LENGTH(spec->env) + N_DEFAULTS + 1, sizeof *env);
    size_t n = 0;

    if (!env)
        return -ENOMEM;
    for (unsigned i = 0; i < N_DEFAULTS; i++) {
        if (find(spec->env, defaults[i][0], strlen(defaults[i][0])))
            continue;
        if (asprintf(&env[n++], "%s=%s", defaults[i][0], defaults[i][1]) < 0)
            return -ENOMEM;
    }
    memcpy(env + n, spec->env, NM_STRV_LENGTH(spec->env) * sizeof *env);
    *ret = env;
    return 0;
}

/* Reads the text, which may contain any bytes, and terminates it with NUL. */
static int read_environ(pid_t pid, char **ret, size_t *ret_size)
{
    _cleanup_close_ int fd = -EBADF;
    _cleanup_free_ char *text = malloc(ENVIRON_MAX + 1);
    char path[40];
    size_t size = 0;
    ssize_t n;

    (void)snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || !text)
        return fd < 0 ? -errno : -ENOMEM;
    while ((n = read(fd, text + size, ENVIRON_MAX - size)) > 0)
        size += (size_t)n;
    if (n < 0 || size == 0) /* the process may have just ended */
        return n < 0 ? -errno : -ENODATA;
    text[size] = '\0';
    *ret = STEAL_PTR(text);
    *ret_size = size;
    return 0;
}

static int split_environ(char *text, size_t size, size_t room, char ***ret)
{
    size_t n = 0;
    char **env;

    for (size_t i = 0; i < size; i++)
        n += text[i] == '\0';
    env = calloc(n + 1 + room + 1, sizeof *env);
    if (!env)
        return -ENOMEM;
    n = 0;
    for (char *s = text; s < text + size; s += strlen(s) + 1)
        if (strchr(s, '='))
            env[n++] = s;
    *ret = env;
    return 0;
}

/* Replaces the variable of the same name, or appends the entry. */
static void put(char **env, char *entry)
{
    size_t len = strcspn(entry, "=");

    while (*env && !(strncmp(*env, entry, len) == 0 && (*env)[len] == '='))
        env++;
    *env = entry;
}

static int make_same(const struct nm_shim_spec *spec, char ***ret)
{
    const struct nm_shim_session *s = &spec->options.session;
    char *text = NULL, **env = NULL;
    size_t size = 0, n = NM_STRV_LENGTH(spec->env);
    int r = read_environ(s->command_pid, &text, &size);

    if (r >= 0)
        r = split_environ(text, size, s->n_more, &env);
    if (r < 0)
        return r;
    for (size_t i = n - s->n_more; i < n; i++)
        put(env, spec->env[i]);
    *ret = env;
    return 0;
}

int nm_shim_env_make(const struct nm_shim_spec *spec, char ***ret)
{
    if (spec->options.session.shim_pid > 0 && make_same(spec, ret) == 0)
        return 0;
    return make_new(spec, ret);
}
