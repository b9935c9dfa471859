/* SPDX-License-Identifier: Apache-2.0 */

/* The last output of a failed container (launcher.h). The user can change these files at any time. So nmd opens the
 * files as that user, without following links, and uses only regular files. */

#include <dirent.h>
#include <fnmatch.h>
#include <limits.h>
#include <sys/stat.h>

#include "util/fileio.h"
#include "util/utf8.h"
#include "yarn/launch/as-user.h"
#include "yarn/launch/launcher-state.h"

/* Limits of the search, which blocks the event loop, because a directory can have any number of files. At most
 * NAMES_MAX names are read, and at most MATCHES_MAX matching files are examined. */
#define NAMES_MAX 2048
#define MATCHES_MAX 32
#define USUAL_NAME "stderr"

/* Matches a name with a pattern. As in Hadoop, a pattern "{a,b}" means a or b. Braces within a pattern have no special
 * meaning. Without memory, no name matches such a pattern. */
static bool matches(const char *pattern, const char *name)
{
    _cleanup_free_ char *copy = NULL;
    size_t length = strlen(pattern);
    char *rest, *one;

    if (length < 2 || pattern[0] != '{' || pattern[length - 1] != '}')
        return fnmatch(pattern, name, 0) == 0;
    rest = copy = strndup(pattern + 1, length - 2);
    while ((one = strsep(&rest, ",}")))
        if (fnmatch(one, name, 0) == 0)
            return true;
    return false;
}

struct newest {
    char *name; /* buffer of NAME_MAX + 1 bytes */
    struct timespec at;
    bool found;
};

static void update_newest(int dir_fd, const char *name, struct newest *n)
{
    struct stat st;

    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
        return;
    if (n->found && (st.st_mtim.tv_sec < n->at.tv_sec ||
                     (st.st_mtim.tv_sec == n->at.tv_sec && st.st_mtim.tv_nsec < n->at.tv_nsec)))
        return;
    n->at = st.st_mtim;
    n->found = true;
    (void)snprintf(n->name, NAME_MAX + 1, "%s", name);
}

/* Finds the newest matching file that isn't empty. If more files match than may be examined, the result is the newest
 * of the examined files. Nearly all containers have a file "stderr", which is always examined. */
static bool find_newest(int dir_fd, const char *pattern, char name[static NAME_MAX + 1])
{
    _cleanup_closedir_ DIR *dir = NULL;
    struct newest newest = {.name = name};
    unsigned n_matches = 0;
    const struct dirent *d;

    (void)nm_opendir_at(dir_fd, &dir);
    if (matches(pattern, USUAL_NAME))
        update_newest(dir_fd, USUAL_NAME, &newest);
    for (unsigned n = 0; dir && n < NAMES_MAX && n_matches < MATCHES_MAX && (d = readdir(dir)); n++)
        if (matches(pattern, d->d_name)) {
            update_newest(dir_fd, d->d_name, &newest);
            n_matches++;
        }
    return newest.found;
}

/* Copies the valid UTF-8 characters. Replaces each other byte with '?', for example the rest of a character that was
 * cut at the start. */
static char *as_text(struct nm_arena *arena, const char *raw, size_t size)
{
    char *text = nm_arena_alloc(arena, size + 1), *out = text;

    for (size_t i = 0; text && i < size;) {
        size_t n = raw[i] ? nm_utf8_size(raw + i) : 0;

        if (n > 0)
            out = mempcpy(out, raw + i, n);
        else
            *out++ = '?';
        i += NM_MAX(n, (size_t)1);
    }
    if (text)
        *out = '\0';
    return text;
}

/* Returns the end of a file. Returns "" if the file is empty or can't be read. */
static const char *read_end(int dir_fd, const char *name, size_t max, struct nm_arena *arena)
{
    _cleanup_close_ int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    _cleanup_free_ char *raw = malloc(max + 1);
    struct stat st;
    ssize_t n;

    if (fd < 0 || !raw || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return "";
    n = pread(fd, raw, max, st.st_size > (off_t)max ? st.st_size - (off_t)max : 0);
    if (n <= 0)
        return "";
    raw[n] = '\0';
    return as_text(arena, raw, (size_t)n) ?: "";
}

static const char *add(struct nm_arena *arena, const char *text, const char *name, const char *words)
{
    if (!*words)
        return text;
    return nm_arena_print(arena, "%sLast bytes of %s:\n%s%s", text, as_text(arena, name, strlen(name)) ?: "", words,
                          words[strlen(words) - 1] == '\n' ? "" : "\n") ?: text;
}

/* Opens the log directory as its owner, which is the container's user. */
static int open_as_owner(struct nm_yarn_launcher *l, const char *log_dir, const char *application,
                         const char *container, struct nm_yarn_dirs_owner *ret)
{
    const struct nm_yarn_dir *d = nm_yarn_launcher_dir(&l->log, log_dir);
    struct nm_yarn_dirs_owner o = {.application = application, .container = container};

    if (!d || nm_yarn_dirs_find_owner(d->fd, application, &o.as.uid, &o.as.gid) < 0)
        return -ENOENT;
    *ret = o;
    return nm_yarn_dirs_open_log(d->fd, &o);
}

const char *nm_yarn_launcher_diagnostics(struct nm_yarn_launcher *l, const char *log_dir, const char *application,
                                         const char *container, struct nm_arena *arena)
{
    const struct nm_yarn_settings *s = l->params.settings;
    _cleanup_(nm_yarn_return) struct nm_yarn_saved_identity saved = {0};
    struct nm_yarn_dirs_owner o;
    _cleanup_close_ int fd = open_as_owner(l, log_dir, application, container, &o);
    char name[NAME_MAX + 1];
    const char *text = "";

    if (fd < 0 || s->stderr_tail_bytes == 0 || nm_yarn_become(&o.as, &saved) < 0)
        return "";
    text = add(arena, text, "prelaunch.err", read_end(fd, "prelaunch.err", (size_t)s->stderr_tail_bytes, arena));
    if (find_newest(fd, s->stderr_pattern, name))
        text = add(arena, text, name, read_end(fd, name, (size_t)s->stderr_tail_bytes, arena));
    return text;
}
