/* SPDX-License-Identifier: Apache-2.0 */

/* See command.h. */

#include "agent/command.h"

#include <assert.h>
#include <errno.h>
#include <sys/resource.h>

#include "util/macros.h"
#include "util/utf8.h"

/* space for what execve() adds: the container's own environment, the program's path and an interpreter line */
#define RESERVE_BYTES (16u << 10)
/* The kernel's bounds for the size of argv and env, from fs/exec.c: the minimum that POSIX requires, and three quarters
 * of the default stack size. */
#define KERNEL_LEAST_BYTES (128u << 10)
#define KERNEL_MOST_BYTES (6u << 20)
#define MORE "..."

char **nm_strv_pack(const char *const *v, size_t n)
{
    size_t size = (n + 1) * sizeof *v;
    char **copy, *p;

    for (size_t i = 0; i < n; i++) {
        assert(v[i]);
        size += strlen(v[i]) + 1;
    }
    copy = malloc(size);
    if (!copy)
        return NULL;
    p = (char *)(copy + n + 1);
    for (size_t i = 0; i < n; i++) {
        copy[i] = p;
        p = stpcpy(p, v[i]) + 1;
    }
    copy[n] = NULL;
    assert((size_t)(p - (char *)copy) == size);
    return copy;
}

void nm_command_done(struct nm_command *c)
{
    free(c->argv);
    free(c->env);
    free(c->workdir);
    free(c->user);
    c->argv = c->env = NULL;
    c->workdir = c->user = NULL;
}

/* Copies a list; a NULL list stays NULL. */
static int strv_copy(char *const *v, char ***ret)
{
    char **copy = v ? nm_strv_pack((const char *const *)v, NM_STRV_LENGTH(v)) : NULL;

    if (v && !copy)
        return -ENOMEM;
    *ret = copy;
    return 0;
}

static int str_copy(const char *s, char **ret)
{
    char *copy = s ? strdup(s) : NULL;

    if (s && !copy)
        return -ENOMEM;
    *ret = copy;
    return 0;
}

int nm_command_copy(const struct nm_command *c, struct nm_command *ret)
{
    struct nm_command copy = *c;
    int r;

    copy.argv = copy.env = NULL;
    copy.workdir = copy.user = NULL;
    r = strv_copy(c->argv, &copy.argv);
    if (r >= 0)
        r = strv_copy(c->env, &copy.env);
    if (r >= 0)
        r = str_copy(c->workdir, &copy.workdir);
    if (r >= 0)
        r = str_copy(c->user, &copy.user);
    if (r < 0) {
        nm_command_done(&copy);
        return r;
    }
    *ret = copy;
    return 0;
}

uint64_t nm_strv_bytes(const char *const *v)
{
    uint64_t n = sizeof *v;

    for (; v && *v; v++)
        n += strlen(*v) + 1 + sizeof *v;
    return n;
}

uint64_t nm_command_bytes(const struct nm_command *c)
{
    return nm_strv_bytes((const char *const *)c->argv) + nm_strv_bytes((const char *const *)c->env) +
           (c->workdir ? strlen(c->workdir) + 1 : 0) + (c->user ? strlen(c->user) + 1 : 0);
}

/* execve() accepts argv and env up to a quarter of the stack's soft limit, but at least KERNEL_LEAST_BYTES and at most
 * KERNEL_MOST_BYTES. RESERVE_BYTES is subtracted, unless the limit is smaller. */
uint64_t nm_command_room(void)
{
    uint64_t room = KERNEL_MOST_BYTES;
    struct rlimit rl;

    if (getrlimit(RLIMIT_STACK, &rl) == 0 && rl.rlim_cur / 4 < room)
        room = NM_MAX(rl.rlim_cur / 4, (rlim_t)KERNEL_LEAST_BYTES);
    room -= RESERVE_BYTES;
    return NM_MIN(room, (uint64_t)NM_COMMAND_BYTES_MAX);
}

/* Keeps whole words as long as they fit. Cuts the first word between two characters if it is too long, because the
 * journal accepts only UTF-8. The size is that of nm_strv_bytes(). */
static char **shorten_argv(char **argv, size_t max_bytes)
{
    const char *few[64];
    _cleanup_free_ char *first = strndup(argv[0], max_bytes / 2);
    size_t n = 1, bytes = sizeof *few; /* NULL */

    if (!first)
        return NULL;
    if (argv[0][strlen(first)])
        first[nm_utf8_prefix(first)] = '\0';
    bytes += strlen(first) + 1 + sizeof *few;
    few[0] = first;
    for (; argv[n] && n < NM_ARRAY_SIZE(few) - 1; n++) {
        bytes += strlen(argv[n]) + 1 + sizeof *few;
        if (bytes + sizeof MORE + sizeof *few > max_bytes)
            break;
        few[n] = argv[n];
    }
    few[n] = MORE;
    return nm_strv_pack(few, n + 1);
}

void nm_command_shorten(struct nm_command *c, size_t max_bytes)
{
    char **argv = NULL, **env;

    assert(max_bytes >= 64);
    if (c->argv && c->argv[0] && nm_strv_bytes((const char *const *)c->argv) > max_bytes)
        argv = shorten_argv(c->argv, max_bytes);
    if (argv) {
        free(c->argv);
        c->argv = argv;
    }
    env = c->env && c->env[0] ? nm_strv_pack(NULL, 0) : NULL;
    if (env) {
        free(c->env);
        c->env = env;
    }
}
