/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The fake backend: plain directories with plain files in a temporary directory. Code that only reads and writes a
 * cgroup's files (freeze, kill, limits, drift, watches) works on them unchanged, without root. No process is moved or
 * signalled; a test simulates the kernel with nm_fake_set_events().
 *
 * With an event loop, callbacks are called from the loop, as by the systemd backend. Without a loop they are called
 * inline, as by the direct backend. Code that works in both modes works with the real backends.
 */

#include "cgroup/backend-fake.h"

#include <ftw.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "cgroup/attr.h"
#include "cgroup/backend.h"
#include "cgroup/limits.h"
#include "util/fileio.h"

struct pending {
    struct pending *next;
    sd_event_source *source;
    struct fake *fake;
    int result;
    struct nm_cgroup *cg;
    nm_cgroup_done_cb_t cb;
    void *userdata;
};

struct fake {
    struct nm_cgroup_backend base;
    sd_event *event;
    char *own_root; /* root directory that this backend makes and removes itself */
    struct pending *pending;
    int fail[NM_FAKE_OP_COUNT];
    unsigned n_calls[NM_FAKE_OP_COUNT];
};

static struct fake *fake_of(const struct nm_cgroup_backend *b)
{
    return (struct fake *)b;
}

static int put(int dir_fd, const char *file, const char *text)
{
    _cleanup_close_ int fd = openat(dir_fd, file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    size_t len = strlen(text);

    if (fd < 0)
        return -errno;
    return write(fd, text, len) == (ssize_t)len ? 0 : -EIO;
}

static int put_limits(int dir_fd, const struct nm_cgroup_limits *l)
{
    struct nm_limits_file files[NM_LIMITS_MAX_FILES];
    size_t n = nm_limits_files(l, true, files);
    char io[32];

    for (size_t i = 0; i < n; i++) {
        int r = put(dir_fd, files[i].file, files[i].text);
        if (r < 0)
            return r;
    }
    (void)snprintf(io, sizeof io, "default %u\n", l->io_weight);
    return l->io_weight > 0 ? put(dir_fd, "io.weight", io) : 0;
}

/* ---- delivery of results --------------------------------------------------------------------- */

static void pending_free(struct pending *p)
{
    struct pending **link = &p->fake->pending;

    while (*link != p)
        link = &(*link)->next;
    *link = p->next;
    sd_event_source_disable_unref(p->source);
    nm_cgroup_free(p->cg);
    free(p);
}

static void deliver(nm_cgroup_done_cb_t cb, int result, struct nm_cgroup *cg, void *userdata)
{
    if (cb)
        cb(result, cg, result < 0 ? "the test said so" : NULL, userdata);
    else
        nm_cgroup_free(cg);
}

static int on_pending(sd_event_source *s, void *userdata)
{
    struct pending *p = userdata;
    struct pending copy = *p;

    (void)s;
    p->cg = NULL;
    pending_free(p);
    deliver(copy.cb, copy.result, copy.cg, copy.userdata);
    return 0;
}

/* Takes ownership of cg in all cases. */
static int answer(struct fake *f, int result, struct nm_cgroup *cg, nm_cgroup_done_cb_t cb,
                  void *userdata)
{
    struct pending *p;
    int r;

    if (!f->event) {
        deliver(cb, result, cg, userdata);
        return 0;
    }
    p = calloc(1, sizeof *p);
    if (!p) {
        nm_cgroup_free(cg);
        return -ENOMEM;
    }
    *p = (struct pending){
        .next = f->pending, .fake = f, .result = result, .cg = cg, .cb = cb, .userdata = userdata};
    f->pending = p;
    r = sd_event_add_defer(f->event, &p->source, on_pending, p);
    if (r < 0)
        pending_free(p);
    return r < 0 ? r : 0;
}

/* Counts the call and returns the failure that a test requested. */
static int begin(struct fake *f, enum nm_fake_op op)
{
    int r = f->fail[op];

    f->n_calls[op]++;
    f->fail[op] = 0;
    return r;
}

/* ---- the ops table --------------------------------------------------------------------------- */

static int fill_new(const struct nm_cgroup *cg, pid_t pid, const struct nm_cgroup_limits *l)
{
    static const struct {
        const char *file, *text;
    } files[] = {{"cgroup.events", "populated 1\nfrozen 0\n"},
                 {"memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\noom_group_kill 0\n"},
                 {"cgroup.freeze", "0\n"},
                 {"cgroup.kill", ""},
                 {"cpu.stat", "usage_usec 0\nuser_usec 0\nsystem_usec 0\n"},
                 {"memory.reclaim", ""},
                 {"memory.current", "0\n"}};
    char text[16];

    for (size_t i = 0; i < NM_ARRAY_SIZE(files); i++) {
        int r = put(cg->dir_fd, files[i].file, files[i].text);
        if (r < 0)
            return r;
    }
    (void)snprintf(text, sizeof text, "%d\n", (int)pid);
    if (put(cg->dir_fd, "cgroup.procs", text) < 0)
        return -EIO;
    return put_limits(cg->dir_fd, l);
}

static int fake_create(struct nm_cgroup_backend *b, const char *container_id,
                       const char *description, pid_t pid,
                       const struct nm_cgroup_limits *limits,
                       nm_cgroup_done_cb_t cb, void *userdata)
{
    _cleanup_(nm_cgroup_freep) struct nm_cgroup *cg = NULL;
    struct fake *f = fake_of(b);
    char name[NM_BACKEND_NAME_MAX];
    int r = begin(f, NM_FAKE_CREATE);

    (void)description;
    if (r < 0)
        return answer(f, r, NULL, cb, userdata);
    r = nm_backend_scope_name(b, container_id, name);
    if (r < 0)
        return r;
    if (mkdirat(b->slice_fd, name, 0755) < 0)
        return answer(f, -errno, NULL, cb, userdata);
    r = nm_backend_open_scope(b, name, &cg);
    if (r >= 0)
        r = fill_new(cg, pid, limits);
    return answer(f, r, r < 0 ? NULL : STEAL_PTR(cg), cb, userdata);
}

static int fake_set_limits(struct nm_cgroup_backend *b, const struct nm_cgroup *cg,
                           const struct nm_cgroup_limits *limits,
                           nm_cgroup_done_cb_t cb, void *userdata)
{
    int r = begin(fake_of(b), NM_FAKE_SET_LIMITS);

    if (r >= 0)
        r = put_limits(cg->dir_fd, limits);
    return answer(fake_of(b), r, NULL, cb, userdata);
}

static int fake_set_slice_limits(struct nm_cgroup_backend *b, const struct nm_cgroup_limits *limits,
                                 nm_cgroup_done_cb_t cb, void *userdata)
{
    int r = begin(fake_of(b), NM_FAKE_SET_SLICE_LIMITS);

    if (r >= 0)
        r = put_limits(b->slice_fd, limits);
    return answer(fake_of(b), r, NULL, cb, userdata);
}

static int remove_node(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    (void)remove(path);
    return 0;
}

static void remove_tree(const char *path)
{
    (void)nftw(path, remove_node, 8, FTW_DEPTH | FTW_PHYS);
}

static int fake_remove(struct nm_cgroup_backend *b, const struct nm_cgroup *cg)
{
    struct nm_cgroup_events events;
    int r = begin(fake_of(b), NM_FAKE_REMOVE);

    if (r < 0)
        return r;
    r = nm_cgroup_read_events(cg, &events);
    if (r >= 0 && events.populated)
        return -EBUSY;
    remove_tree(cg->path);
    return 0;
}

static int fake_attach_helper(struct nm_cgroup_backend *b, const char *name, pid_t pid,
                              const struct nm_cgroup_limits *limits, nm_cgroup_done_cb_t cb, void *userdata)
{
    _cleanup_(nm_cgroup_freep) struct nm_cgroup *cg = NULL;
    struct fake *f = fake_of(b);
    char scope[NM_BACKEND_NAME_MAX], path[NM_BACKEND_NAME_MAX + 3];
    int r = begin(f, NM_FAKE_ATTACH_HELPER);

    if (r < 0)
        return answer(f, r, NULL, cb, userdata);
    r = nm_backend_helper_name(b, name, scope);
    if (r < 0)
        return r;
    (void)snprintf(path, sizeof path, "../%s", scope);
    if (mkdirat(b->slice_fd, path, 0755) < 0 && errno != EEXIST)
        return answer(f, -errno, NULL, cb, userdata);
    r = nm_backend_open_beside(b, scope, &cg);
    if (r >= 0)
        r = fill_new(cg, pid, limits);
    return answer(f, r, r < 0 ? NULL : STEAL_PTR(cg), cb, userdata);
}

static void fake_free(struct nm_cgroup_backend *b)
{
    struct fake *f = fake_of(b);

    while (f->pending)
        pending_free(f->pending);
    if (f->own_root)
        remove_tree(f->own_root);
    free(f->own_root);
    sd_event_unref(f->event);
    nm_backend_done(b);
    free(f);
}

static const struct nm_cgroup_ops fake_ops = {
    .name = "fake",
    .set_slice_limits = fake_set_slice_limits,
    .create = fake_create,
    .set_limits = fake_set_limits,
    .remove = fake_remove,
    .list = nm_backend_list,
    .attach_helper = fake_attach_helper,
    .free = fake_free,
};

static int make_root(struct fake *f, const char *given)
{
    const char *tmp = getenv("TMPDIR");
    const char *root = given;

    if (!root) {
        if (asprintf(&f->own_root, "%s/nmd-fake-XXXXXX", tmp ? tmp : "/tmp") < 0) {
            f->own_root = NULL;
            return -ENOMEM;
        }
        if (!mkdtemp(f->own_root))
            return -errno;
        root = f->own_root;
    }
    if (asprintf(&f->base.slice_path, "%s/%s", root, f->base.slice) < 0) {
        f->base.slice_path = NULL;
        return -ENOMEM;
    }
    if (mkdir(f->base.slice_path, 0755) < 0 && errno != EEXIST)
        return -errno;
    return nm_backend_open_slice(&f->base);
}

static void cleanup_fake(struct fake **f)
{
    if (*f)
        fake_free(&(*f)->base);
}

int nm_fake_new(const struct nm_backend_host *host, struct nm_cgroup_backend **ret,
                char **ret_message)
{
    _cleanup_(cleanup_fake) struct fake *f = calloc(1, sizeof *f);
    int r;

    if (!f)
        return -ENOMEM;
    f->event = sd_event_ref(host->event);
    r = nm_backend_init(&f->base, &fake_ops, host->slice);
    if (r >= 0)
        r = make_root(f, host->root);
    if (r >= 0)
        r = put(f->base.slice_fd, "cgroup.procs", "");
    if (r >= 0)
        r = put(f->base.slice_fd, "cgroup.events", "populated 0\nfrozen 0\n");
    if (r < 0)
        return nm_fail(ret_message, r, "making a fake cgroup tree: %s", strerror(-r));
    for (enum nm_cgroup_feature i = 0; i < NM_CGROUP_FEATURE_COUNT; i++)
        nm_fake_set_feature(&f->base, i, NULL);
    nm_fake_set_feature(&f->base, NM_CGROUP_PRESSURE, "the fake backend has no pressure files");
    nm_fake_set_feature(&f->base, NM_CGROUP_NET_PRIORITY, "the fake backend has no programs");
    *ret = &STEAL_PTR(f)->base;
    return 0;
}

/* ---- functions for tests --------------------------------------------------------------------- */

void nm_fake_fail_next(struct nm_cgroup_backend *b, enum nm_fake_op op, int r)
{
    fake_of(b)->fail[op] = r;
}

unsigned nm_fake_n_calls(const struct nm_cgroup_backend *b, enum nm_fake_op op)
{
    return fake_of(b)->n_calls[op];
}

void nm_fake_set_feature(struct nm_cgroup_backend *b, enum nm_cgroup_feature feature,
                         const char *missing)
{
    b->feature[feature] = !missing;
    b->missing[feature] = missing;
}

int nm_fake_set_events(const struct nm_cgroup *cg, bool populated, bool frozen)
{
    char text[64];

    (void)snprintf(text, sizeof text, "populated %d\nfrozen %d\n", populated, frozen);
    return put(cg->dir_fd, "cgroup.events", text);
}

int nm_fake_set_memory_events(const struct nm_cgroup *cg, const struct nm_cgroup_memory_events *e)
{
    char text[256];

    (void)snprintf(text, sizeof text,
                   "low 0\nhigh %" PRIu64 "\nmax %" PRIu64 "\noom %" PRIu64 "\noom_kill %" PRIu64
                   "\noom_group_kill %" PRIu64 "\n",
                   e->high, e->max, e->oom, e->oom_kill, e->oom_group_kill);
    return put(cg->dir_fd, "memory.events", text);
}

int nm_fake_read(const struct nm_cgroup *cg, const char *file, char *buf, size_t size)
{
    return nm_attr_read(cg->dir_fd, file, buf, size);
}
