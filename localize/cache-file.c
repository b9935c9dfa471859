/* SPDX-License-Identifier: Apache-2.0 */

/* See layout.h. Times are in CLOCK_BOOTTIME, as in the cache. The times in a file are valid only during the current
 * boot. */

#include "localize/layout.h"

#include <inttypes.h>
#include <sys/stat.h>

#include "util/error.h"
#include "util/fileio.h"
#include "util/json-text.h"
#include "util/parse.h"

/* Limit for writing and for reading: nmd writes no longer files. */
#define MAX_FILE_BYTES (64U << 10) /* a URI and a pattern, each escaped */

/* Visibilities are stored as words, because a later nmd may have other numbers, and people may read the file. */
static const char *const visibilities[] = {
    [NM_VISIBILITY_PUBLIC] = "PUBLIC",
    [NM_VISIBILITY_PRIVATE] = "PRIVATE",
    [NM_VISIBILITY_APPLICATION] = "APPLICATION",
};

/* The values that change are at the beginning and have a fixed length. */
#define HEAD_FORMAT "{\"whole\":%5s,\"bytes\":%20" PRIu64 ","
#define HEAD_BYTES (sizeof "{\"whole\":" - 1 + 5 + sizeof ",\"bytes\":" - 1 + 20 + 1)

static void print_name(uint64_t id, char name[static 32])
{
    (void)snprintf(name, 32, "%" PRIu64, id);
}

/* Returns the state to store in the file. "whole" becomes false before the first byte is fetched, and becomes true only
 * after the last file has been renamed to its final name. It becomes false again before the first file is removed. The
 * file of a resource that may be incomplete is therefore correct even if nmd is killed at any time. */
static enum nm_cache_noted wanted_note(const struct nm_cache_entry *e)
{
    return e->state == NM_CACHE_READY && !e->is_leaving ? NM_CACHE_NOTED_WHOLE : NM_CACHE_NOTED_PART;
}

static mode_t wanted_mode(const struct nm_cache_entry *e)
{
    return e->is_listed ? S_IRUSR | S_IWUSR | S_ISVTX : S_IRUSR | S_IWUSR;
}

static void print_head(const struct nm_cache_entry *e, char head[static HEAD_BYTES + 1])
{
    (void)snprintf(head, HEAD_BYTES + 1, HEAD_FORMAT, wanted_note(e) == NM_CACHE_NOTED_WHOLE ? "true" : "false",
                   NM_MIN(e->bytes, (uint64_t)INT64_MAX));
}

int nm_cache_file_save(int dir_fd, const struct nm_cache_entry *e, const char *boot_id)
{
    json_auto_t *json =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:I, s:s}", "boot", boot_id, "visibility",
                  visibilities[e->key.visibility], "user", e->key.user, "application", e->key.application, "uri",
                  e->key.uri, "type", (int)e->key.type, "timestamp", (json_int_t)e->key.timestamp_msec, "pattern",
                  e->key.pattern);
    _cleanup_free_ char *rest = nm_json_text(json, JSON_COMPACT), *text = NULL;
    char name[32], head[HEAD_BYTES + 1];
    int r;

    if (!rest)
        return json ? -ENOMEM : -EINVAL;
    print_head(e, head);
    r = asprintf(&text, "%s%s", head, rest + 1);
    if (r < 0) {
        text = NULL;
        return -ENOMEM;
    }
    if ((size_t)r >= MAX_FILE_BYTES)
        return -E2BIG;
    print_name(e->id, name);
    r = nm_write_file_atomic_at(dir_fd, name, text, 0600);
    if (r >= 0 && e->is_listed)
        r = RET_NERRNO(fchmodat(dir_fd, name, wanted_mode(e), 0));
    return r < 0 ? r : nm_cache_file_touch(dir_fd, e->id, e->used_usec);
}

/* Changes the head in place with one write. If nmd is killed, this write has happened completely or not at all (files
 * of another boot aren't trusted). Replacing each file would make the file system search longer and longer for an
 * inode: ext4 doesn't immediately reuse an inode that was freed. */
static int change_head(int dir_fd, const struct nm_cache_entry *e)
{
    _cleanup_close_ int fd = -EBADF;
    char name[32], head[HEAD_BYTES + 1], old[HEAD_BYTES];

    print_name(e->id, name);
    print_head(e, head);
    fd = openat(dir_fd, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return -errno;
    /* a file of an earlier version has the members in another order */
    if (pread(fd, old, sizeof old, 0) != (ssize_t)sizeof old || old[HEAD_BYTES - 1] != ',' ||
        memcmp(old, head, sizeof "{\"whole\":" - 1) != 0)
        return -EBADMSG;
    /* nmd sets the mark before the state becomes "whole". A reader therefore never finds a whole listed resource
     * without the mark. */
    if (e->is_listed && fchmod(fd, wanted_mode(e)) < 0)
        return -errno;
    return nm_pwrite_all(fd, head, HEAD_BYTES, 0);
}

int nm_cache_file_note(int dir_fd, struct nm_cache *cache, uint64_t id, const char *boot_id)
{
    const struct nm_cache_entry *e = nm_cache_find(cache, id);
    const enum nm_cache_noted wanted = wanted_note(e);
    int r = 0;

    if (e->noted != wanted)
        r = e->noted != NM_CACHE_NOT_NOTED && change_head(dir_fd, e) >= 0
                ? nm_cache_file_touch(dir_fd, id, e->used_usec)
                : nm_cache_file_save(dir_fd, e, boot_id);
    if (r >= 0)
        nm_cache_note(cache, id, wanted);
    return r;
}

/* Stores the time of use as the file's mtime, so the file isn't written. Uses are frequent, and a lost update only
 * affects the order of removals. */
int nm_cache_file_touch(int dir_fd, uint64_t id, uint64_t used_usec)
{
    const struct timespec times[] = {{.tv_nsec = UTIME_OMIT},
                                     {.tv_sec = (time_t)(used_usec / NM_USEC_PER_SEC),
                                      .tv_nsec = (long)(used_usec % NM_USEC_PER_SEC * NM_NSEC_PER_USEC)}};
    char name[32];

    print_name(id, name);
    return RET_NERRNO(utimensat(dir_fd, name, times, AT_SYMLINK_NOFOLLOW));
}

/* Removes the file. Succeeds if the file is missing, because an earlier nmd may have removed it and ended before it
 * reported the removal. */
int nm_cache_file_remove(int dir_fd, uint64_t id)
{
    char name[32];

    print_name(id, name);
    return unlinkat(dir_fd, name, 0) < 0 && errno != ENOENT ? -errno : 0;
}

static int get_visibility(const char *word, enum nm_visibility *ret)
{
    for (size_t i = 0; i < NM_ARRAY_SIZE(visibilities); i++)
        if (nm_streq(word, visibilities[i])) {
            *ret = (enum nm_visibility)i;
            return 0;
        }
    return -EBADMSG;
}

int nm_cache_file_parse(const char *text, size_t size, const char *boot_id, struct nm_cache_entry *ret,
                        json_t **ret_json)
{
    json_auto_t *json = size < MAX_FILE_BYTES ? json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL) : NULL;
    struct nm_cache_entry e = {0};
    const char *boot, *visibility;
    json_int_t timestamp, bytes;
    int type, whole;

    if (!json || json_unpack_ex(json, NULL, JSON_STRICT, "{s:s, s:b, s:s, s:s, s:s, s:s, s:i, s:I, s:s, s:I}", "boot",
                                &boot, "whole", &whole, "visibility", &visibility, "user", &e.key.user, "application",
                                &e.key.application, "uri", &e.key.uri, "type", &type, "timestamp", &timestamp,
                                "pattern", &e.key.pattern, "bytes", &bytes) < 0)
        return -EBADMSG;
    if (get_visibility(visibility, &e.key.visibility) < 0 || type < 0 || timestamp < 0 || bytes < 0)
        return -EBADMSG;
    /* After a reboot the resource may be incomplete on the disk although its file says whole. Resources aren't synced,
     * because fetching a resource again takes less time than waiting for disks each time. */
    e.is_leaving = !whole || !nm_streq(boot, boot_id);
    e.key.type = (unsigned)type;
    e.key.timestamp_msec = (uint64_t)timestamp;
    e.bytes = (uint64_t)bytes;
    *ret = e;
    *ret_json = STEAL_PTR(json);
    return 0;
}

/* Loads one file. If the time of last use is later than now, it is from another boot and has no meaning. */
static int load_file(int dir_fd, const char *name, uint64_t id, const char *boot_id, struct nm_cache *cache)
{
    _cleanup_free_ char *text = malloc(MAX_FILE_BYTES);
    json_auto_t *json = NULL;
    struct nm_cache_entry e;
    struct stat st;
    size_t size;
    int r;

    if (!text)
        return -ENOMEM;
    r = nm_read_file_at(dir_fd, name, text, MAX_FILE_BYTES, &size);
    if (r >= 0)
        r = nm_cache_file_parse(text, size, boot_id, &e, &json);
    if (r < 0)
        return r;
    if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    e.id = id;
    e.is_listed = st.st_mode & S_ISVTX;
    e.used_usec = st.st_mtim.tv_sec < 0 ? 0
                                        : (uint64_t)st.st_mtim.tv_sec * NM_USEC_PER_SEC +
                                              (uint64_t)st.st_mtim.tv_nsec / NM_NSEC_PER_USEC;
    return nm_cache_restore(cache, &e);
}

/* Loads all files. If a file can't be read, its number is reserved, so that no new resource gets the same path. The
 * file is kept, so that the next nmd reserves the number too. The file may be valid, and unreadable only because of the
 * disk or a lack of descriptors. */
int nm_cache_file_load(int dir_fd, const char *boot_id, struct nm_cache *cache)
{
    _cleanup_closedir_ DIR *d = NULL;
    int r = nm_opendir_at(dir_fd, &d);

    if (r < 0)
        return r;
    for (struct dirent *e; (e = readdir(d));) {
        uint64_t id;

        if (nm_streq(e->d_name, ".") || nm_streq(e->d_name, ".."))
            continue;
        if (nm_parse_u64(e->d_name, &id) < 0 || id < NM_CACHE_FIRST_ID || id >= INT64_MAX) {
            (void)unlinkat(dir_fd, e->d_name, 0);
            continue;
        }
        nm_cache_reserve(cache, id);
        r = load_file(dir_fd, e->d_name, id, boot_id, cache);
        if (r == -ENOMEM)
            return r;
    }
    return 0;
}
