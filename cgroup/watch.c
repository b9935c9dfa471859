/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Wakes the event loop on changes of cgroup.events and memory.events.
 *
 * kernfs reports EPOLLPRI|EPOLLERR for a file that changed since *this* descriptor last read it. So each watch has its
 * own descriptor. The watch reads the file once to arm the descriptor, and again on every wake-up; otherwise epoll
 * would report the change forever.
 *
 * The rmdir of a cgroup is visible neither to poll nor to an inotify watch on the directory itself (an open descriptor
 * keeps its inode). A watch on the parent directory reports the rmdir (IN_DELETE). A populated cgroup cannot be
 * removed, so the watch on the parent exists only while the cgroup is empty. A thousand live containers therefore have
 * no such watch, and a removal does not wake a thousand watches.
 *
 * In fake trees the files are regular files, which epoll refuses (EPERM): there inotify watches the file.
 */

#include "cgroup/cgroup.h"

#include <assert.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "util/fileio.h"

struct nm_cgroup_watch {
    enum nm_cgroup_watch_kind kind;
    sd_event *event;
    int fd;
    char *parent;
    sd_event_source *change;  /* change of the file */
    sd_event_source *removal; /* removal in the parent directory, while the cgroup is empty */
    nm_cgroup_watch_cb_t cb;
    void *userdata;
};

static const char *const watch_files[] = {
    [NM_CGROUP_WATCH_EVENTS] = "cgroup.events",
    [NM_CGROUP_WATCH_MEMORY_EVENTS] = "memory.events",
};

enum cgroup_state { CGROUP_ALIVE, CGROUP_EMPTY, CGROUP_GONE };

/* Reads the file, which also re-arms the descriptor. */
static enum cgroup_state read_state(struct nm_cgroup_watch *w)
{
    struct nm_cgroup_events e;
    struct stat st;
    char buf[512];
    int r = nm_pread_file(w->fd, buf, sizeof buf, NULL);

    if (r == -ENODEV || (fstat(w->fd, &st) == 0 && st.st_nlink == 0))
        return CGROUP_GONE;
    if (r < 0 || w->kind != NM_CGROUP_WATCH_EVENTS || nm_cgroup_parse_events(buf, &e) < 0)
        return CGROUP_ALIVE;
    return e.populated ? CGROUP_ALIVE : CGROUP_EMPTY;
}

static void disarm(struct nm_cgroup_watch *w)
{
    w->change = sd_event_source_disable_unref(w->change);
    w->removal = sd_event_source_disable_unref(w->removal);
}

static int on_removal(sd_event_source *s, const struct inotify_event *ev, void *userdata);

/* Watches the parent directory exactly while the cgroup is empty. The second read closes the gap between the first read
 * and the new watch. */
static enum cgroup_state settle(struct nm_cgroup_watch *w)
{
    enum cgroup_state state = read_state(w);

    if (state == CGROUP_ALIVE)
        w->removal = sd_event_source_disable_unref(w->removal);
    if (state == CGROUP_EMPTY && !w->removal) {
        int r = sd_event_add_inotify(w->event, &w->removal, w->parent, IN_DELETE | IN_ONLYDIR,
                                     on_removal, w);
        if (r >= 0)
            (void)sd_event_source_set_description(w->removal, "cgroup-removal");
        state = read_state(w);
    }
    if (state == CGROUP_GONE)
        disarm(w);
    return state;
}

/* Calls the callback last, since it may free the watch. */
static int call_back(struct nm_cgroup_watch *w)
{
    enum cgroup_state state = settle(w);

    w->cb(w->kind, state == CGROUP_GONE, w->userdata);
    return 0;
}

static int on_removal(sd_event_source *s, const struct inotify_event *ev, void *userdata)
{
    struct nm_cgroup_watch *w = userdata;

    (void)s;
    (void)ev;
    /* Other cgroups of the slice are removed, too. Call back only for the end of this cgroup. */
    return read_state(w) == CGROUP_GONE ? call_back(w) : 0;
}

static int on_change(sd_event_source *s, int fd, uint32_t revents, void *userdata)
{
    (void)s;
    (void)fd;
    (void)revents;
    return call_back(userdata);
}

static int on_file_change(sd_event_source *s, const struct inotify_event *ev, void *userdata)
{
    (void)s;
    (void)ev;
    return call_back(userdata);
}

static int add_change_source(struct nm_cgroup_watch *w, const struct nm_cgroup *cg)
{
    _cleanup_free_ char *path = NULL;
    int r = sd_event_add_io(w->event, &w->change, w->fd, EPOLLPRI, on_change, w);

    if (r != -EPERM)
        return r;
    if (asprintf(&path, "%s/%s", cg->path, watch_files[w->kind]) < 0)
        return -ENOMEM;
    return sd_event_add_inotify(w->event, &w->change, path, IN_MODIFY | IN_DELETE_SELF,
                                on_file_change, w);
}

/* Paths of cgroups are absolute, and never the root directory. */
static char *parent_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    assert(slash && slash > path);
    return strndup(path, (size_t)(slash - path));
}

int nm_cgroup_watch_new(sd_event *event, const struct nm_cgroup *cg, enum nm_cgroup_watch_kind kind,
                        nm_cgroup_watch_cb_t cb, void *userdata, struct nm_cgroup_watch **ret)
{
    _cleanup_(nm_cgroup_watch_freep) struct nm_cgroup_watch *w = calloc(1, sizeof *w);
    int r;

    assert(event && cb && (unsigned)kind < NM_ARRAY_SIZE(watch_files));
    if (!w)
        return -ENOMEM;
    w->kind = kind;
    w->cb = cb;
    w->userdata = userdata;
    w->event = sd_event_ref(event);
    w->fd = openat(cg->dir_fd, watch_files[kind], O_RDONLY | O_CLOEXEC);
    if (w->fd < 0)
        return -errno;
    w->parent = parent_of(cg->path);
    if (!w->parent)
        return -ENOMEM;
    r = add_change_source(w, cg);
    if (r < 0)
        return r;
    (void)sd_event_source_set_description(w->change, watch_files[kind]);
    if (settle(w) == CGROUP_GONE)
        return -ENOENT;
    *ret = STEAL_PTR(w);
    return 0;
}

struct nm_cgroup_watch *nm_cgroup_watch_free(struct nm_cgroup_watch *w)
{
    if (!w)
        return NULL;
    disarm(w);
    sd_event_unref(w->event);
    nm_close(w->fd);
    free(w->parent);
    free(w);
    return NULL;
}
