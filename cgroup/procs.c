/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See procs.h. cgroup.procs has no useful size limit (a fork bomb fills megabytes), so it is parsed as a stream in
 * small pieces, digit by digit. Process 0 stands for a process outside this pid namespace; such a process has no id in
 * this namespace and is skipped.
 */

#include "cgroup/procs.h"

#include <assert.h>
#include <limits.h>

#include "util/error.h"
#include "util/fileio.h"
#include "util/macros.h"

/* Maximum depth of a walk. Deeper trees exist only to harm a recursive walk. */
#define MAX_DEPTH 16

/* Limits of one call of nm_procs_prune(): numbers of cgroups that the walk enters and that it tries to remove. The next
 * call continues. Only a cgroup that is deeper than PRUNE_MAX levels is never removed. */
#define PRUNE_MAX 1024u
#define PRUNE_REMOVED_MAX 4096u

/* The end of a piece may cut a number in two: *pid holds the digits that were already parsed. */
static int feed(const char *buf, size_t len, pid_t *pid, nm_procs_fn_t fn, void *userdata)
{
    assert(*pid >= 0);
    for (size_t i = 0; i < len; i++) {
        if (buf[i] >= '0' && buf[i] <= '9') {
            if (*pid > (INT_MAX - 9) / 10)
                return -EBADMSG;
            *pid = *pid * 10 + (buf[i] - '0');
            continue;
        }
        if (buf[i] != '\n')
            return -EBADMSG;
        if (*pid > 0) {
            int r = fn(*pid, userdata);
            if (r != 0)
                return r;
        }
        *pid = 0;
    }
    return 0;
}

static int walk_one(int dir_fd, nm_procs_fn_t fn, void *userdata)
{
    _cleanup_close_ int fd = openat(dir_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
    char buf[2048];
    pid_t pid = 0;

    if (fd < 0)
        return -errno;
    for (;;) {
        ssize_t n = read(fd, buf, sizeof buf);
        int r;

        if (n < 0) {
            if (errno == EINTR)
                continue;
            /* A threaded cgroup has no list of processes; its processes are listed in the domain above. */
            return errno == ENODEV ? -ENOENT : errno == EOPNOTSUPP ? 0 : -errno;
        }
        if (n == 0)
            return pid > 0 ? fn(pid, userdata) : 0;
        r = feed(buf, (size_t)n, &pid, fn, userdata);
        if (r != 0)
            return r;
    }
}

/* A result other than 0 stops the walk. */
typedef int (*dir_fn_t)(int parent_fd, const char *name, unsigned depth, void *userdata);

static int for_each_subdir(int dir_fd, unsigned depth, dir_fn_t fn, void *userdata)
{
    _cleanup_closedir_ DIR *dir = NULL;
    int r = nm_opendir_at(dir_fd, &dir);

    if (r < 0)
        return r;
    for (struct dirent *de; (de = readdir(dir));) {
        if (de->d_type != DT_DIR || nm_streq(de->d_name, ".") || nm_streq(de->d_name, ".."))
            continue;
        r = fn(dirfd(dir), de->d_name, depth, userdata);
        if (r != 0)
            return r;
    }
    return 0;
}

struct walk {
    nm_procs_fn_t fn;
    void *userdata;
    unsigned n_cgroups;
};

static int walk_subdir(int parent_fd, const char *name, unsigned depth, void *userdata);

static int walk_tree(int dir_fd, unsigned depth, struct walk *w)
{
    int r = w->n_cgroups++ < NM_PROCS_CGROUPS_MAX ? walk_one(dir_fd, w->fn, w->userdata) : NM_PROCS_CUT;

    if (r != 0 || depth >= MAX_DEPTH)
        return r;
    return for_each_subdir(dir_fd, depth, walk_subdir, w);
}

static int walk_subdir(int parent_fd, const char *name, unsigned depth, void *userdata)
{
    _cleanup_close_ int fd = openat(parent_fd, name,
                                    O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    int r;

    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    r = walk_tree(fd, depth + 1, userdata);
    return r == -ENOENT ? 0 : r; /* a subgroup that was removed meanwhile counts as empty */
}

int nm_procs_walk(int dir_fd, nm_procs_fn_t fn, void *userdata)
{
    struct walk w = {.fn = fn, .userdata = userdata};

    assert(dir_fd >= 0 && fn);
    return walk_tree(dir_fd, 0, &w);
}

struct search {
    unsigned nth, n; /* index of the wanted cgroup, and number of cgroups seen */
    int fd;
};

/* Returns 1 when the cgroup was found or the search is over. */
static int search_tree(int dir_fd, unsigned depth, struct search *s);

static int search_subdir(int parent_fd, const char *name, unsigned depth, void *userdata)
{
    _cleanup_close_ int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    int r;

    if (fd < 0)
        return errno == ENOENT ? 0 : -errno;
    r = search_tree(fd, depth + 1, userdata);
    return r == -ENOENT ? 0 : r; /* a cgroup that was removed meanwhile counts as empty */
}

static int search_tree(int dir_fd, unsigned depth, struct search *s)
{
    if (s->n++ == s->nth) {
        s->fd = openat(dir_fd, "cgroup.procs", O_RDONLY | O_CLOEXEC);
        if (s->fd >= 0)
            return 1;
        if (errno != ENOENT && errno != ENODEV)
            return -errno;
        if (depth == 0)
            return 1;
        s->n--; /* this cgroup was removed meanwhile, so the next cgroup gets its number */
        return 0;
    }
    if (s->n >= NM_PROCS_CGROUPS_MAX)
        return 1;
    return depth < MAX_DEPTH ? for_each_subdir(dir_fd, depth, search_subdir, s) : 0;
}

int nm_procs_open_nth(int dir_fd, unsigned nth)
{
    struct search s = {.nth = nth, .fd = -ENOENT};
    int r = search_tree(dir_fd, 0, &s);

    assert(dir_fd >= 0);
    return r < 0 ? r : s.fd < 0 ? -ENOENT : s.fd;
}

struct prune {
    unsigned n_removed; /* number of cgroups removed in this directory */
    unsigned *n_removed_in_all;
    char busy[NAME_MAX + 1]; /* name of a cgroup that is not empty */
};

static int remove_empty(int parent_fd, const char *name, unsigned depth, void *userdata)
{
    struct prune *p = userdata;

    (void)depth;
    if (++*p->n_removed_in_all > PRUNE_REMOVED_MAX)
        return -EBUSY;
    if (unlinkat(parent_fd, name, AT_REMOVEDIR) >= 0 || errno == ENOENT) {
        p->n_removed++;
        return 0;
    }
    if (errno != EBUSY && errno != ENOTEMPTY)
        return -errno;
    (void)snprintf(p->busy, sizeof p->busy, "%s", name);
    return 1;
}

/* Moves *fd to a subdirectory, or to the parent. */
static int step(int *fd, const char *name)
{
    int next = openat(*fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

    if (next < 0)
        return -errno;
    (void)nm_close(*fd);
    *fd = next;
    return 0;
}

/* Removes cgroups from the leaves up, because only an empty cgroup can be removed. The walk enters a cgroup whose
 * removal fails; if this cgroup has no subdirectory, it has processes. The walk goes much deeper than nm_procs_walk(),
 * because a cgroup that is not removed here would remain permanently. */
int nm_procs_prune(int dir_fd)
{
    _cleanup_close_ int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    unsigned depth = 0, n_entered = 0, n_removed = 0;
    bool entered = false;

    if (fd < 0)
        return -errno;
    for (;;) {
        struct prune p = {.n_removed_in_all = &n_removed};
        int r = for_each_subdir(fd, 0, remove_empty, &p);

        if (r < 0 || (r == 0 && depth == 0))
            return r;
        if ((r == 0 && entered && p.n_removed == 0) || n_entered == PRUNE_MAX)
            return -EBUSY;
        entered = r > 0;
        n_entered += entered;
        depth = entered ? depth + 1 : depth - 1;
        r = step(&fd, entered ? p.busy : "..");
        if (r < 0)
            return r;
    }
}

/* Returns whether the "0::/..." line of /proc/PID/cgroup contains this cgroup. The name is unique on the node. A path
 * prefix cannot be compared, since a cgroup namespace may hide the prefix. */
static bool line_names(const char *text, const char *name)
{
    const char *line = strstr(text, "0::");
    size_t len = strlen(name), line_len;

    assert(len > 0);
    while (line && line != text && line[-1] != '\n')
        line = strstr(line + 1, "0::");
    if (!line)
        return false;
    line_len = strcspn(line, "\n");
    for (const char *p = line; (p = strstr(p, name)) && p < line + line_len; p++)
        if (p[-1] == '/' && (p[len] == '/' || p[len] == '\n' || p[len] == '\0'))
            return true;
    return false;
}

/* Each hierarchy has a line with a path of at most 4 KiB: a dozen hierarchies of version 1, named hierarchies, and in
 * the last line version 2. */
#define MEMBERSHIP_SIZE ((size_t)128 << 10)

bool nm_procs_is_member(pid_t pid, const char *name)
{
    char path[32], text[MEMBERSHIP_SIZE];

    (void)snprintf(path, sizeof path, "/proc/%d/cgroup", (int)pid);
    if (nm_read_file_at(AT_FDCWD, path, text, sizeof text, NULL) < 0)
        return false;
    return line_names(text, name);
}
