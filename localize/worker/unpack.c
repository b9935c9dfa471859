/* SPDX-License-Identifier: Apache-2.0 */

/* See unpack.h. libarchive reads the archive. This code creates the files, with paths relative to one directory
 * descriptor. */

#include "localize/worker/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <assert.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "localize/worker/entry-name.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/fileio.h"

#define READ_BYTES (64U << 10)
/* Output up to this size doesn't count for the ratio, because a small archive may legitimately contain a megabyte of
 * zeros. */
#define FREE_OF_RATIO_BYTES (64 * NM_MIB)
#define MOST_LINKS 40 /* maximum number of links on one path, as in the kernel */

/* State of an unpacking. The struct contains the read buffer, because libarchive keeps a pointer to the buffer between
 * two reads. */
struct unpack {
    const struct nm_unpack_params *params;
    struct archive *archive;
    int source_fd, root_fd;
    uint64_t source_bytes, most_bytes; /* size of the archive; limit on the output */
    uint64_t bytes, entries;           /* unpacked until now */
    char **message;
    char buf[READ_BYTES];
};

static void unpack_free(struct unpack **u)
{
    if (*u)
        (void)archive_read_free((*u)->archive);
    free(*u);
}

/* Returns whether a name has this ending. A name that consists only of the ending doesn't count, because the name of
 * the directory would be empty. */
static bool ends_with(const char *name, const char *ending)
{
    size_t len = strlen(name), n = strlen(ending);

    return len > n && strcasecmp(name + len - n, ending) == 0;
}

enum nm_archive_kind nm_archive_kind(const char *name)
{
    if (ends_with(name, ".jar"))
        return NM_ARCHIVE_JAR;
    if (ends_with(name, ".zip"))
        return NM_ARCHIVE_ZIP;
    return ends_with(name, ".tar") || ends_with(name, ".tar.gz") || ends_with(name, ".tgz") ||
                   ends_with(name, ".tar.xz")
               ? NM_ARCHIVE_TAR
               : NM_ARCHIVE_NONE;
}

mode_t nm_localized_file_mode(bool is_public)
{
    return is_public ? 0555 : 0500;
}

mode_t nm_localized_dir_mode(bool is_public)
{
    return is_public ? 0755 : 0700;
}

/* Passes the next piece of the file to libarchive. Also checks limits and reports progress, because libarchive may read
 * much in one call. */
static ssize_t read_source(struct archive *a, void *userdata, const void **ret)
{
    struct unpack *u = userdata;
    ssize_t n;

    if (nm_now_usec() >= u->params->deadline_usec) {
        archive_set_error(a, ETIMEDOUT, "the time limit was reached");
        return ARCHIVE_FATAL;
    }
    do
        n = read(u->source_fd, u->buf, sizeof u->buf);
    while (n < 0 && errno == EINTR);
    if (n < 0) {
        archive_set_error(a, errno, "can't read it: %s", strerror(errno));
        return ARCHIVE_FATAL;
    }
    *ret = u->buf;
    return n;
}

/* Seeks for libarchive. The authoritative list of a zip's entries is at the end of the zip; data between entries is
 * arbitrary. */
static la_int64_t seek_source(struct archive *a, void *userdata, la_int64_t offset, int whence)
{
    struct unpack *u = userdata;
    off_t at = lseek(u->source_fd, offset, whence);

    (void)a;
    return at < 0 ? ARCHIVE_FATAL : at;
}

/* Skips for libarchive. If this function returns 0, libarchive reads on and finds the end itself, which detects a
 * truncated archive. */
static la_int64_t skip_source(struct archive *a, void *userdata, la_int64_t request)
{
    struct unpack *u = userdata;
    off_t at = lseek(u->source_fd, 0, SEEK_CUR);

    (void)a;
    /* a skip beyond the end isn't possible */
    if (at < 0 || request > (la_int64_t)u->source_bytes - at)
        return 0;
    return lseek(u->source_fd, request, SEEK_CUR) < 0 ? ARCHIVE_FATAL : request;
}

/* Reports a failure of libarchive. libarchive's messages are for people. Only two of its error codes are distinguished
 * here. */
static int archive_failed(struct unpack *u, const char *doing)
{
    const char *reason = archive_error_string(u->archive);
    int error = archive_errno(u->archive);

    if (error == ENOMEM)
        return nm_fail(u->message, -ENOMEM, "unpacking the archive requires more memory than allowed");
    return nm_fail(u->message, error == ETIMEDOUT ? -ETIMEDOUT : -EBADMSG, "can't unpack the archive: %s: %s",
                   doing, reason ? reason : "unknown error");
}

/* Refuses an entry. The message contains the entry's name, so that the archive's author can find it. */
static int entry_failed(struct unpack *u, int r, const char *path, const char *reason)
{
    return nm_fail(u->message, r, "the archive is refused: %s: %s", *path ? path : "an entry", reason);
}

/* Opens the archive. Enables only the formats and filters of the supported endings, because each further format means
 * more code that reads untrusted data. */
static int open_archive(struct unpack *u)
{
    struct archive *a = u->archive = archive_read_new();
    bool ok;

    if (!a)
        return -ENOMEM;
    ok = u->params->kind == NM_ARCHIVE_TAR
             ? archive_read_support_format_tar(a) == ARCHIVE_OK && archive_read_support_filter_gzip(a) == ARCHIVE_OK &&
                   archive_read_support_filter_xz(a) == ARCHIVE_OK
             : archive_read_support_format_zip(a) == ARCHIVE_OK;
    ok = ok && archive_read_set_read_callback(a, read_source) == ARCHIVE_OK &&
         archive_read_set_seek_callback(a, seek_source) == ARCHIVE_OK &&
         archive_read_set_skip_callback(a, skip_source) == ARCHIVE_OK &&
         archive_read_set_callback_data(a, u) == ARCHIVE_OK;
    if (!ok)
        return nm_fail(u->message, -ENOTSUP,
                       "this host's libarchive lacks support for at least one of zip, tar, gzip and xz");
    if (archive_read_open1(a) != ARCHIVE_OK)
        return archive_failed(u, "can't open it");
    /* one filter, plus the file itself: nested gzip would only serve to circumvent the limit on the ratio */
    if (archive_filter_count(a) > 2)
        return nm_fail(u->message, -EBADMSG, "the archive is refused: it is compressed more than once");
    return 0;
}

/* Counts an entry or an implied directory. Each needs an inode, and a single name may imply 64 directories. */
static int count_entry(struct unpack *u, const char *path)
{
    char reason[80];

    if (++u->entries <= u->params->most_entries)
        return 0;
    (void)snprintf(reason, sizeof reason, "the archive has more entries than the limit of %" PRIu64,
                   u->params->most_entries);
    return entry_failed(u, -EFBIG, path, reason);
}

/* Checks that this number of further bytes is within the limit. */
static int check_room(struct unpack *u, uint64_t bytes, const char *path)
{
    if (nm_add_u64(u->bytes, bytes) <= u->most_bytes)
        return 0;
    return entry_failed(u, -EFBIG, path,
                        u->most_bytes < u->params->most_bytes
                            ? "the compression ratio is so high that the archive may be a decompression bomb"
                            : "the unpacked files are larger than allowed");
}

/* Follows a part that isn't a directory. *path is the rest of the path after the part. If the part is a symlink that
 * leads further down, inserts its target before the rest, because tar also writes through such links. -ENOTDIR: the
 * part isn't a symlink either. */
static int follow_link(int fd, const char *part, char path[static PATH_MAX], char **rest, unsigned *links)
{
    char target[PATH_MAX], whole[PATH_MAX];
    ssize_t n = readlinkat(fd, part, target, sizeof target - 1);

    if (n < 0)
        return -ENOTDIR;
    target[n] = '\0';
    if (!nm_entry_link_is_safe(target) || ++*links > MOST_LINKS ||
        (size_t)snprintf(whole, sizeof whole, "%s%s%s", target, *rest ? "/" : "", *rest ?: "") >= sizeof whole)
        return -ELOOP;
    (void)strcpy(path, whole);
    *rest = path;
    return 0;
}

static int part_failed(struct unpack *u, int r, const char *part)
{
    return entry_failed(u, r, part,
                        r == -ENOTDIR ? "a part of the path is not a directory"
                        : r == -ELOOP ? "the path contains a symbolic link that may lead out of the archive"
                                      : strerror(-r));
}

/* Opens a directory, and creates the directory if it is missing. -ENOTDIR: a file that isn't a directory has this
 * name. */
static int open_part(struct unpack *u, int fd, const char *part)
{
    int next = RET_NERRNO(openat(fd, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    int r;

    if (next != -ENOENT)
        return next == -ELOOP ? -ENOTDIR : next;
    r = count_entry(u, part);
    if (r < 0)
        return r;
    if (mkdirat(fd, part, nm_localized_dir_mode(u->params->is_public)) < 0)
        return -errno;
    return RET_NERRNO(openat(fd, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/* Opens a directory below the root part by part, and creates missing directories. Overwrites path. */
static int open_parents(struct unpack *u, char path[static PATH_MAX])
{
    _cleanup_close_ int fd = RET_NERRNO(openat(u->root_fd, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    unsigned links = 0;
    char *rest = path;

    for (char *part; fd >= 0 && (part = strsep(&rest, "/"));) {
        int next;

        if (!*part || nm_streq(part, "."))
            continue; /* the target of a link may contain such parts */
        next = open_part(u, fd, part);
        if (next == -ENOTDIR)
            next = follow_link(fd, part, path, &rest, &links);
        else if (next >= 0) {
            (void)nm_close(fd);
            fd = next;
        }
        if (next < 0)
            return *u->message ? next : part_failed(u, next, part);
    }
    return fd < 0 ? fd : STEAL_FD(fd);
}

/* Opens the directory that contains the path's last part (the caller closes it), and returns this last part. */
static int open_parent(struct unpack *u, const char *path, char copy[static PATH_MAX], const char **ret_name)
{
    char *slash;

    (void)stpcpy(copy, path);
    slash = strrchr(copy, '/');
    if (slash)
        *slash = '\0';
    *ret_name = slash ? path + (slash - copy) + 1 : path; /* points into path, because the copy is overwritten */
    return open_parents(u, slash ? copy : copy + strlen(copy));
}

/* Creates a directory. Accepts an existing directory, because archives contain directories repeatedly. */
static int make_dir(struct unpack *u, const char *path)
{
    char copy[PATH_MAX];
    int fd;

    (void)stpcpy(copy, path);
    fd = open_parents(u, copy);
    if (fd < 0)
        return fd;
    (void)nm_close(fd);
    return 0;
}

/* Writes data by offset, because an archive may have its blocks in any order, with holes between them. Holes count as
 * written bytes, because readers of the file read them. */
static int write_data(struct unpack *u, const char *path, int fd, uint64_t *ret_size)
{
    uint64_t end = 0;

    for (;;) {
        const void *data;
        la_int64_t offset;
        size_t size;
        int r = archive_read_data_block(u->archive, &data, &size, &offset);

        if (r == ARCHIVE_EOF)
            break;
        if (r < ARCHIVE_WARN || offset < 0)
            return archive_failed(u, path);
        if (size == 0)
            continue;
        end = NM_MAX(end, nm_add_u64((uint64_t)offset, size));
        r = check_room(u, end, path);
        if (r < 0)
            return r;
        r = nm_pwrite_all(fd, data, size, offset);
        if (r < 0)
            return entry_failed(u, r, path, strerror(-r));
        u->params->progress(u->params->userdata, u->bytes + end);
    }
    *ret_size = end;
    return 0;
}

/* Creates a file. Its mode is 0600 until it is complete. The archive's mode, owner and times are ignored, because they
 * belong to another system. */
static int make_file(struct unpack *u, struct archive_entry *e, const char *path, int parent_fd, const char *name)
{
    _cleanup_close_ int fd = openat(parent_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    uint64_t size = 0, declared = archive_entry_size_is_set(e) ? (uint64_t)archive_entry_size(e) : 0;
    int r;

    if (fd < 0)
        return entry_failed(u, -errno, path, strerror(errno));
    r = check_room(u, declared, path);
    if (r >= 0)
        r = write_data(u, path, fd, &size);
    if (r < 0)
        return r;
    /* the file ends with a hole */
    if (declared > size && ftruncate(fd, (off_t)declared) < 0)
        return entry_failed(u, -errno, path, strerror(errno));
    u->bytes = nm_add_u64(u->bytes, NM_MAX(size, declared));
    return fchmod(fd, nm_localized_file_mode(u->params->is_public)) < 0
               ? entry_failed(u, -errno, path, strerror(errno))
               : 0;
}

/* Creates a symlink with any target. Other processes follow the symlink with their own rights, and this process doesn't
 * follow it. */
static int make_symlink(struct unpack *u, struct archive_entry *e, const char *path, int parent_fd, const char *name)
{
    const char *target = archive_entry_symlink(e);

    if (!target || !*target)
        return entry_failed(u, -EBADMSG, path, "the symbolic link has no target");
    return symlinkat(target, parent_fd, name) < 0 ? entry_failed(u, -errno, path, strerror(errno)) : 0;
}

/* Returns whether hard links aren't supported, or whether the file has the maximum number of links of the file
 * system. */
static bool is_without_links(int error)
{
    return error == EMLINK || error == EXDEV || nm_error_is_not_supported(error);
}

static void copy_progress(void *userdata, uint64_t bytes, uint64_t total_bytes)
{
    const struct unpack *u = userdata;

    (void)total_bytes;
    u->params->progress(u->params->userdata, u->bytes + bytes);
}

/* Copies a file to which no hard link can be made. The bytes of the copy count as output. */
static int copy_file(struct unpack *u, int from_fd, const char *from, int to_fd, const char *path)
{
    _cleanup_close_ int fd = openat(from_fd, from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    uint64_t bytes;
    int r;

    if (fd < 0 || fstat(fd, &st) < 0)
        return entry_failed(u, -errno, path, strerror(errno));
    r = check_room(u, (uint64_t)st.st_size, path);
    if (r < 0)
        return r;
    r = nm_copy_file(fd, to_fd, (uint64_t)st.st_size, u->params->deadline_usec, copy_progress, u, &bytes);
    if (r >= 0)
        r = RET_NERRNO(fchmod(to_fd, nm_localized_file_mode(u->params->is_public)));
    if (r < 0)
        return entry_failed(u, r, path, strerror(-r));
    u->bytes = nm_add_u64(u->bytes, bytes);
    return 0;
}

static int copy_symlink(struct unpack *u, int from_fd, const char *from, int parent_fd, const char *name,
                        const char *path)
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(from_fd, from, target, sizeof target - 1);

    if (n < 0)
        return entry_failed(u, -errno, path, strerror(errno));
    target[n] = '\0';
    return symlinkat(target, parent_fd, name) < 0 ? entry_failed(u, -errno, path, strerror(errno)) : 0;
}

static int copy_link(struct unpack *u, int from_fd, const char *from, bool is_file, int parent_fd, const char *name,
                     const char *path)
{
    _cleanup_close_ int fd = -EBADF;

    if (!is_file)
        return copy_symlink(u, from_fd, from, parent_fd, name, path);
    fd = openat(parent_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd < 0 ? entry_failed(u, -errno, path, strerror(errno)) : copy_file(u, from_fd, from, fd, path);
}

/* Makes another name for a file or symlink that was unpacked earlier. */
static int make_hard_link(struct unpack *u, const char *link, const char *path, int parent_fd, const char *name)
{
    _cleanup_close_ int from_fd = -EBADF;
    char from[PATH_MAX], copy[PATH_MAX];
    const char *from_name;
    struct stat st;

    if (nm_entry_name_normalize(link, from) < 0 || !*from)
        return entry_failed(u, -EXDEV, path, "the target of the hard link is outside of the archive");
    from_fd = open_parent(u, from, copy, &from_name);
    if (from_fd < 0)
        return from_fd;
    if (fstatat(from_fd, from_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
        (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode)))
        return entry_failed(u, -EBADMSG, path, "the target of the hard link is not a file of the archive");
    if (linkat(from_fd, from_name, parent_fd, name, 0) == 0)
        return 0;
    if (!is_without_links(errno))
        return entry_failed(u, -errno, path, strerror(errno));
    return copy_link(u, from_fd, from_name, S_ISREG(st.st_mode), parent_fd, name, path);
}

/* Creates an entry. The parent directory is opened again for each entry, because an earlier entry may have replaced the
 * directory, and an older descriptor would not show this. */
static int make_in_parent(struct unpack *u, struct archive_entry *e, const char *path)
{
    _cleanup_close_ int parent_fd = -EBADF;
    const char *name, *link = archive_entry_hardlink(e);
    char copy[PATH_MAX];

    parent_fd = open_parent(u, path, copy, &name);
    if (parent_fd < 0)
        return parent_fd;
    /* as with tar, a later entry replaces an earlier entry of the same name */
    if (unlinkat(parent_fd, name, 0) < 0 && errno != ENOENT)
        return entry_failed(u, -errno, path, "a directory with the same name exists");
    if (link)
        return make_hard_link(u, link, path, parent_fd, name);
    return archive_entry_filetype(e) == AE_IFLNK ? make_symlink(u, e, path, parent_fd, name)
                                                 : make_file(u, e, path, parent_fd, name);
}

static int pattern_failed(struct unpack *u, int r, const char *path)
{
    return entry_failed(u, r, path,
                        r == -ETIMEDOUT ? "matching the pattern takes too long"
                        : r == -EILSEQ  ? "Java versions disagree about whether \\b or \\B in the pattern matches a "
                                          "name that is not ASCII"
                                        : strerror(-r));
}

/* Creates an entry if the pattern matches. The pattern is applied to the unchanged name in the archive, because the
 * pattern's author saw this name. */
static int make_entry(struct unpack *u, struct archive_entry *e)
{
    const char *name = archive_entry_pathname(e);
    char path[PATH_MAX];
    int r;

    if (!name)
        return entry_failed(u, -EBADMSG, "", nm_charset_is_utf8() ? "the name is missing, or not in UTF-8 as the "
                                                                    "archive declares"
                                                                  : "the name is missing, or not in ASCII, and this "
                                                                    "host has no locale C.UTF-8 to read it");
    r = nm_entry_name_normalize(name, path);
    if (r < 0)
        return entry_failed(u, r, name,
                            r == -EXDEV ? "the path leads out of the archive"
                                        : "the name is too long or has too many parts");
    r = count_entry(u, path);
    if (r < 0)
        return r;
    if (u->params->pattern) {
        /* a directory is created with its files */
        r = archive_entry_filetype(e) == AE_IFDIR ? 0 : nm_pattern_match(u->params->pattern, name);
        if (r <= 0)
            return r < 0 ? pattern_failed(u, r, path) : 0;
    }
    if (archive_entry_hardlink(e))
        return make_in_parent(u, e, path);
    switch (archive_entry_filetype(e)) {
    case AE_IFDIR:
        return make_dir(u, path);
    case AE_IFREG:
    case AE_IFLNK:
        return *path ? make_in_parent(u, e, path)
                     : entry_failed(u, -EBADMSG, name, "it is not a valid name of a file");
    default:
        return entry_failed(u, -EBADMSG, path, "it is a device, a pipe or a socket");
    }
}

/* Creates all entries. Ignores warnings of libarchive (a name in another character set, a lost attribute), because most
 * such archives are harmless. */
static int make_entries(struct unpack *u)
{
    for (;;) {
        struct archive_entry *e;
        int r = archive_read_next_header(u->archive, &e);

        if (r == ARCHIVE_EOF)
            return 0;
        if (r < ARCHIVE_WARN)
            return archive_failed(u, "can't read an entry");
        r = make_entry(u, e);
        if (r < 0)
            return r;
    }
}

int nm_unpack(int source_fd, int dir_fd, const struct nm_unpack_params *p, uint64_t *ret_bytes, char **ret_message)
{
    /* declared first, so that libarchive is freed before the locale is restored */
    _cleanup_(nm_charset_end) locale_t before = nm_charset_begin(p->kind == NM_ARCHIVE_TAR);
    _cleanup_(unpack_free) struct unpack *u = calloc(1, sizeof *u);
    struct stat st;
    int r;

    assert(p->kind != NM_ARCHIVE_NONE && p->progress);
    if (!u)
        return -ENOMEM;
    if (fstat(source_fd, &st) < 0 || lseek(source_fd, 0, SEEK_SET) < 0)
        return -errno;
    u->params = p;
    u->message = ret_message;
    u->source_fd = source_fd;
    u->root_fd = dir_fd;
    u->source_bytes = (uint64_t)st.st_size;
    u->most_bytes = u->source_bytes > UINT64_MAX / p->ratio
                        ? p->most_bytes
                        : NM_MIN(p->most_bytes, NM_MAX(FREE_OF_RATIO_BYTES, u->source_bytes * p->ratio));
    r = open_archive(u);
    if (r >= 0)
        r = make_entries(u);
    if (r < 0)
        return r;
    *ret_bytes = u->bytes;
    return 0;
}
