/* SPDX-License-Identifier: Apache-2.0 */

/* See facts.h. Examines a path. Doesn't follow links, and makes no changes. */

#include <nettle/sha2.h>
#include <sys/stat.h>

#include "util/fileio.h"
#include "yarn/setup/facts.h"

#define OURS_MAX ((size_t)64 << 10) /* a larger file can't be from the setup, which writes only small files */
#define PARTS_MAX 64u

const char *nm_setup_path_normalize(struct nm_arena *a, const char *path)
{
    char *copy = nm_arena_print(a, "%s", path), *to = copy;

    for (const char *p = copy; p && *p;) {
        size_t n = strcspn(p + 1, "/"); /* length of a component with its leading slash */

        if (*p != '/' || (n > 0 && !(n == 1 && p[1] == '.'))) {
            memmove(to, p, n + 1);
            to += n + 1;
        }
        p += n + 1;
    }
    if (copy && to == copy && *copy == '/')
        to++;
    if (to)
        *to = '\0';
    return copy;
}

static bool has_parent_component(const char *path)
{
    for (const char *p = path; (p = strstr(p, "/..")); p++)
        if (p[3] == '/' || p[3] == '\0')
            return true;
    return false;
}

bool nm_setup_is_plain(const char *path)
{
    const char *const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._+@-";

    return path[0] == '/' && path[1] && path[strspn(path, allowed)] == '\0' && !has_parent_component(path);
}

const char *nm_setup_sha256(struct nm_arena *a, const void *data, size_t size)
{
    uint8_t digest[SHA256_DIGEST_SIZE];
    char *text = nm_arena_alloc(a, 2 * sizeof digest + 1);
    struct sha256_ctx c;

    if (!text)
        return NULL;
    sha256_init(&c);
    sha256_update(&c, size, data);
    sha256_digest(&c, sizeof digest, digest);
    for (size_t i = 0; i < sizeof digest; i++)
        (void)sprintf(text + 2 * i, "%02x", digest[i]);
    return text;
}

/* Returns the length of the part of the path before its last slash. 0: the parent is the root directory. */
static size_t above(const char *path, size_t size)
{
    while (size > 0 && path[size - 1] != '/')
        size--;
    return size > 0 ? size - 1 : 0;
}

/* Returns an O_PATH descriptor of the file with the first `size` bytes of the path (0: the root directory). Doesn't
 * follow links. */
static int open_part(const char *root, const char *path, size_t size)
{
    _cleanup_free_ char *full = NULL;

    if (asprintf(&full, "%s%.*s", root, (int)size, path) < 0) {
        full = NULL;
        return -ENOMEM;
    }
    return nm_open_no_links(*full ? full : "/", O_PATH);
}

/* Returns whether users other than root and the current user could replace entries of the directory. */
static bool is_weak(const struct stat *st)
{
    if (S_ISLNK(st->st_mode)) /* the mode of a link is always 0777, and links are reported separately */
        return false;
    return (st->st_uid != 0 && st->st_uid != geteuid()) ||
           ((st->st_mode & (S_IWGRP | S_IWOTH)) && !(st->st_mode & S_ISVTX));
}

/* Finds the directories above the path that don't exist, and those that are weak (see is_weak()). */
static int examine_parents(struct nm_arena *a, const char *root, struct nm_setup_path *s)
{
    size_t ends[PARTS_MAX], n = 0;

    for (size_t end = above(s->path, strlen(s->path)); end > 0 && n < PARTS_MAX; end = above(s->path, end))
        ends[n++] = end;
    s->missing = nm_arena_alloc(a, (n + 1) * sizeof *s->missing);
    s->weak = nm_arena_alloc(a, (n + 1) * sizeof *s->weak);
    if (!s->missing || !s->weak)
        return -ENOMEM;
    while (n-- > 0) {
        _cleanup_close_ int fd = open_part(root, s->path, ends[n]);
        const char *part = nm_arena_print(a, "%.*s", (int)ends[n], s->path);
        struct stat st;

        if (!part || fd == -ENOMEM)
            return -ENOMEM;
        if (fd == -ENOENT)
            s->missing[s->n_missing++] = part;
        else if (fd >= 0 && (fstat(fd, &st) < 0 || is_weak(&st)))
            s->weak[s->n_weak++] = part;
    }
    return 0;
}

/* Computes the checksum of a file. A large file gets no checksum, because the setup hasn't written it. */
static int sum_up(struct nm_arena *a, const char *root, struct nm_setup_path *s)
{
    _cleanup_close_ int dir = open_part(root, s->path, above(s->path, strlen(s->path)));
    _cleanup_close_ int readable = dir < 0 ? dir : RET_NERRNO(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    _cleanup_free_ uint8_t *data = NULL;
    size_t size;
    int r = readable < 0 ? readable : nm_read_regular_at(readable, strrchr(s->path, '/') + 1, OURS_MAX, &data, &size);

    if (r == -EBADMSG)
        return 0;
    if (r < 0)
        return r;
    s->sha256 = nm_setup_sha256(a, data, size);
    return s->sha256 ? 0 : -ENOMEM;
}

/* Checks the directory as nmd itself checks its directories. Links are followed. */
static bool leads_to_usable(const char *root, const char *path)
{
    _cleanup_close_ int at = RET_NERRNO(open(*root ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    _cleanup_close_ int fd = at < 0 ? at : nm_open_in_root(at, path, O_PATH | O_DIRECTORY);
    _cleanup_close_ int parent = fd < 0 ? fd : RET_NERRNO(openat(fd, "..", O_PATH | O_DIRECTORY | O_CLOEXEC));

    return parent >= 0 && nm_check_private_dir(fd) == 0 && nm_check_parent_dirs(parent) == 0;
}

static void check_path(const struct stat *st, const char *root, struct nm_setup_path *s)
{
    s->kind = S_ISREG(st->st_mode)   ? NM_SETUP_FILE
              : S_ISDIR(st->st_mode) ? NM_SETUP_DIR
              : S_ISLNK(st->st_mode) ? NM_SETUP_LINK
                                     : NM_SETUP_OTHER;
    s->uid = st->st_uid;
    s->gid = st->st_gid;
    s->mode = st->st_mode & 07777;
    s->is_private = s->kind == NM_SETUP_DIR && (s->uid == 0 || s->uid == geteuid()) &&
                    !(s->mode & (S_IWGRP | S_IWOTH));
    s->is_usable = s->kind == NM_SETUP_LINK ? leads_to_usable(root, s->path) : s->is_private && s->n_weak == 0;
}

int nm_setup_path_examine(struct nm_arena *a, const char *root, const char *path, struct nm_setup_path *ret)
{
    struct nm_setup_path s = {.path = path};
    _cleanup_close_ int fd = open_part(root, path, strlen(path));
    struct stat st;
    int r = fd == -ENOMEM ? fd : examine_parents(a, root, &s);

    if (r < 0)
        return r;
    if (fd >= 0 && fstat(fd, &st) == 0) {
        check_path(&st, root, &s);
        if (s.kind == NM_SETUP_FILE)
            s.error = sum_up(a, root, &s);
    } else if (fd == -ELOOP) {
        s.kind = NM_SETUP_LINK;
        s.is_usable = leads_to_usable(root, path);
    } else if (fd != -ENOENT) {
        s.kind = NM_SETUP_OTHER;
        s.error = fd < 0 ? fd : -errno;
    }
    if (s.error == -ENOMEM)
        return s.error;
    *ret = s;
    return 0;
}
