/* SPDX-License-Identifier: Apache-2.0 */

/* localize/worker/unpack.h: valid and malicious archives. A refused archive must leave no file outside of its
 * directory. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <locale.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "localize/worker/unpack.h"
#include "tests/unit/remove-tree.h"
#include "util/clock.h"
#include "util/macros.h"

enum packing { TAR, TAR_GZ, TAR_GZ_GZ, TAR_XZ, ZIP };

struct member {
    unsigned type; /* AE_IF...; 0: the entry is a hard link */
    const char *name;
    const char *text; /* content of a file, or target of a link */
    uint64_t zeros;   /* number of zeros to write instead of the content */
    unsigned mode;
};

/* The archive is unpacked into /tmp/X/in. */
struct fixture {
    char root[32];
    int root_fd, in_fd, source_fd;
    struct nm_unpack_params params;
    uint64_t bytes;
    char *message;
};

static void ignore(void *userdata, uint64_t bytes)
{
    (void)userdata, (void)bytes;
}

static int set_up(void **state)
{
    struct fixture *w = calloc(1, sizeof *w);

    if (!w)
        return -1;
    (void)strcpy(w->root, "/tmp/nmd-test-unpack.XXXXXX");
    if (!mkdtemp(w->root))
        return -1;
    w->root_fd = open(w->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(mkdirat(w->root_fd, "in", 0700), 0);
    w->in_fd = openat(w->root_fd, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    w->source_fd = memfd_create("archive", MFD_CLOEXEC);
    w->params = (struct nm_unpack_params){
        .kind = NM_ARCHIVE_TAR,
        .most_bytes = UINT64_C(1) << 40,
        .most_entries = 1000,
        .ratio = 200,
        .deadline_usec = UINT64_MAX,
        .progress = ignore,
    };
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *w = *state;

    (void)close(w->root_fd), (void)close(w->in_fd), (void)close(w->source_fd);
    free(w->message);
    (void)remove_tree(w->root);
    free(w);
    return 0;
}

static void write_member(struct archive *a, const struct member *m)
{
    static const char zeros[1 << 16];
    struct archive_entry *e = archive_entry_new();
    size_t size = m->type == AE_IFREG && m->text ? strlen(m->text) : 0;

    archive_entry_set_pathname(e, m->name);
    archive_entry_set_filetype(e, m->type ? m->type : AE_IFREG);
    archive_entry_set_perm(e, (__LA_MODE_T)(m->mode ? m->mode : 0644));
    archive_entry_set_uid(e, 12345);
    archive_entry_set_size(e, (la_int64_t)(m->zeros ? m->zeros : size));
    if (m->type == AE_IFLNK)
        archive_entry_set_symlink(e, m->text);
    if (m->type == 0)
        archive_entry_set_hardlink(e, m->text);
    if (m->type == AE_IFCHR || m->type == AE_IFBLK)
        archive_entry_set_rdev(e, 0x0103);
    /* libarchive warns: the name isn't valid text in this locale */
    assert_true(archive_write_header(a, e) >= ARCHIVE_WARN);
    if (size > 0)
        assert_int_equal(archive_write_data(a, m->text, size), size);
    for (uint64_t n = 0; n < m->zeros; n += sizeof zeros)
        assert_true(archive_write_data(a, zeros, NM_MIN(sizeof zeros, (size_t)(m->zeros - n))) > 0);
    archive_entry_free(e);
}

static void pack(struct fixture *w, enum packing packing, const struct member *members, size_t n)
{
    struct archive *a = archive_write_new();

    assert_int_equal(packing == ZIP ? archive_write_set_format_zip(a) : archive_write_set_format_pax_restricted(a), 0);
    if (packing == TAR_GZ || packing == TAR_GZ_GZ)
        assert_int_equal(archive_write_add_filter_gzip(a), ARCHIVE_OK);
    if (packing == TAR_GZ_GZ)
        assert_int_equal(archive_write_add_filter_gzip(a), ARCHIVE_OK);
    if (packing == TAR_XZ)
        assert_int_equal(archive_write_add_filter_xz(a), ARCHIVE_OK);
    assert_int_equal(archive_write_open_fd(a, w->source_fd), ARCHIVE_OK);
    for (size_t i = 0; i < n; i++)
        write_member(a, &members[i]);
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    assert_int_equal(archive_write_free(a), ARCHIVE_OK);
    w->params.kind = packing == ZIP ? NM_ARCHIVE_ZIP : NM_ARCHIVE_TAR;
}

static int unpack(struct fixture *w)
{
    return nm_unpack(w->source_fd, w->in_fd, &w->params, &w->bytes, &w->message);
}

#define PACK(w, packing, ...) \
    pack(w, packing, (const struct member[]){__VA_ARGS__}, \
         sizeof((const struct member[]){__VA_ARGS__}) / sizeof(struct member))

static void assert_file(struct fixture *w, const char *name, const char *text)
{
    _cleanup_close_ int fd = openat(w->in_fd, name, O_RDONLY | O_CLOEXEC);
    char buf[256] = "";

    if (fd < 0)
        fail_msg("%s doesn't exist", name);
    assert_true(read(fd, buf, sizeof buf - 1) >= 0);
    assert_string_equal(buf, text);
}

static unsigned mode_of(struct fixture *w, const char *name)
{
    struct stat st;

    assert_int_equal(fstatat(w->in_fd, name, &st, AT_SYMLINK_NOFOLLOW), 0);
    return st.st_mode & 07777;
}

/* Checks that the archive is refused, that the reason contains this text, and that no file is outside of the
 * directory. */
static void assert_refused(struct fixture *w, int error, const char *reason)
{
    int n = 0;
    _cleanup_closedir_ DIR *d = opendir(w->root);

    assert_int_equal(unpack(w), error);
    assert_non_null(w->message);
    if (!strstr(w->message, reason))
        fail_msg("refused for another reason: %s", w->message);
    while (readdir(d))
        n++;
    assert_int_equal(n, 3);
    assert_int_equal(w->bytes, 0);
}

static void check_good(struct fixture *w, enum packing packing)
{
    PACK(w, packing, {AE_IFDIR, "d/", NULL, 0, 0}, {AE_IFREG, "d/a", "one", 0, 06777}, {AE_IFREG, "x/y/b", "two", 0, 0},
         {AE_IFLNK, "x/link", "../d/a", 0, 0}, {AE_IFREG, "d/a", "three", 0, 0});
    assert_int_equal(unpack(w), 0);
    assert_file(w, "d/a", "three");
    assert_file(w, "x/y/b", "two");
    assert_file(w, "x/link", "three");
    assert_int_equal(w->bytes, 11);
    assert_int_equal(mode_of(w, "d/a"), 0500);
    assert_int_equal(mode_of(w, "d"), 0700);
}

static void test_a_tar_is_unpacked(void **state)
{
    check_good(*state, TAR);
}

static void test_a_tar_gz_is_unpacked(void **state)
{
    check_good(*state, TAR_GZ);
}

static void test_a_tar_xz_is_unpacked(void **state)
{
    check_good(*state, TAR_XZ);
}

static void test_a_zip_is_unpacked(void **state)
{
    check_good(*state, ZIP);
}

static void test_a_public_archive_is_readable_by_all(void **state)
{
    struct fixture *w = *state;
    struct stat st;

    w->params.is_public = true;
    PACK(w, TAR, {AE_IFREG, "d/a", "one", 0, 04600});
    assert_int_equal(unpack(w), 0);
    assert_int_equal(mode_of(w, "d/a"), 0555);
    assert_int_equal(mode_of(w, "d") & 0700, 0700);
    assert_int_equal(fstatat(w->in_fd, "d/a", &st, 0), 0);
    assert_int_equal(st.st_uid, geteuid());
}

static void test_a_hard_link_is_unpacked(void **state)
{
    struct fixture *w = *state;

    PACK(w, TAR, {AE_IFREG, "d/a", "one", 0, 0}, {0, "e/b", "d/a", 0, 0});
    assert_int_equal(unpack(w), 0);
    assert_file(w, "e/b", "one");
}

static void test_only_matching_entries_are_unpacked(void **state)
{
    struct fixture *w = *state;
    _cleanup_(nm_pattern_freep) struct nm_pattern *p = NULL;

    assert_int_equal(nm_pattern_new("(?:classes/|lib/).*", &p, NULL), 0);
    w->params.pattern = p;
    PACK(w, ZIP, {AE_IFREG, "lib/a", "one", 0, 0}, {AE_IFREG, "META-INF/b", "two", 0, 0},
         {AE_IFREG, "lib", "three", 0, 0});
    assert_int_equal(unpack(w), 0);
    assert_file(w, "lib/a", "one");
    assert_int_equal(faccessat(w->in_fd, "META-INF", F_OK, 0), -1);
    assert_int_equal(w->bytes, 3);
}

/* A leading slash in a name is ignored, as tar and Java do. */
static void test_a_leading_slash_of_a_name_is_ignored(void **state)
{
    struct fixture *w = *state;

    PACK(w, TAR, {AE_IFREG, "a", "x", 0, 0}, {AE_IFREG, "/tmp/nmd-outside", "y", 0, 0});
    assert_int_equal(unpack(w), 0);
    assert_file(w, "tmp/nmd-outside", "y");
    assert_int_equal(access("/tmp/nmd-outside", F_OK), -1);
}

static void test_names_with_dots_that_stay_inside_are_accepted(void **state)
{
    struct fixture *w = *state;

    PACK(w, ZIP, {AE_IFREG, "a/b", "x", 0, 0}, {AE_IFREG, "a/../c", "y", 0, 0});
    assert_int_equal(unpack(w), 0);
    assert_file(w, "c", "y");
}

static void test_names_with_dots_that_lead_out_are_refused(void **state)
{
    PACK(*state, ZIP, {AE_IFREG, "a/../../outside", "x", 0, 0});
    assert_refused(*state, -EXDEV, "leads out of the archive");
}

static void assert_link(struct fixture *w, const char *name, const char *expected)
{
    char target[256] = "";

    assert_true(readlinkat(w->in_fd, name, target, sizeof target - 1) > 0);
    assert_string_equal(target, expected);
}

/* The archive has symlinks as in a Python environment, and symlinks to outside. nm-localizer makes these symlinks but
 * doesn't follow them while unpacking. A process that follows them later needs its own access rights. */
static void check_links(struct fixture *w, enum packing packing)
{
    PACK(w, packing, {AE_IFLNK, "bin/python3", "/usr/bin/python3", 0, 0}, {AE_IFLNK, "lib64", "lib", 0, 0},
         {AE_IFLNK, "d/a", "../../outside", 0, 0}, {AE_IFLNK, "e", "d/../f", 0, 0}, {AE_IFREG, "f", "one", 0, 0},
         {AE_IFDIR, "d/", NULL, 0, 0});
    assert_int_equal(unpack(w), 0);
    assert_link(w, "bin/python3", "/usr/bin/python3");
    assert_link(w, "lib64", "lib");
    assert_link(w, "d/a", "../../outside");
    assert_link(w, "e", "d/../f");
    assert_file(w, "e", "one");
}

static void test_symlinks_of_a_tar_are_made(void **state)
{
    check_links(*state, TAR_GZ);
}

static void test_symlinks_of_a_zip_are_made(void **state)
{
    check_links(*state, ZIP);
}

static void test_an_entry_below_a_symlink_that_leads_out_is_refused(void **state)
{
    PACK(*state, TAR, {AE_IFDIR, "d", NULL, 0, 0}, {AE_IFLNK, "d/up", "..", 0, 0},
         {AE_IFLNK, "d/up/out", "..", 0, 0});
    assert_refused(*state, -ELOOP, "contains a symbolic link that may lead out");
}

static void test_an_entry_below_an_absolute_symlink_is_refused(void **state)
{
    struct fixture *w = *state;
    _cleanup_free_ char *target = NULL;

    assert_true(asprintf(&target, "%s/in", w->root) > 0);
    PACK(w, TAR, {AE_IFLNK, "a", target, 0, 0}, {AE_IFREG, "a/b", "x", 0, 0});
    assert_refused(w, -ELOOP, "contains a symbolic link that may lead out");
}

static void test_an_entry_below_a_circular_symlink_is_refused(void **state)
{
    PACK(*state, TAR, {AE_IFLNK, "a", "a", 0, 0}, {AE_IFREG, "a/b", "x", 0, 0});
    assert_refused(*state, -ELOOP, "contains a symbolic link that may lead out");
}

static void test_an_entry_below_a_file_is_refused(void **state)
{
    PACK(*state, TAR, {AE_IFREG, "a", "y", 0, 0}, {AE_IFREG, "a/b", "x", 0, 0});
    assert_refused(*state, -ENOTDIR, "a part of the path is not a directory");
}

/* An entry below a symlink is written through the symlink if its target is a directory of the archive, as tar does. */
static void test_an_entry_below_a_symlink_that_stays_inside_is_unpacked(void **state)
{
    struct fixture *w = *state;

    PACK(w, TAR, {AE_IFDIR, "x/d", NULL, 0, 0}, {AE_IFLNK, "x/a", "./d/", 0, 0}, {AE_IFLNK, "l", "x/a", 0, 0},
         {AE_IFREG, "x/a/b/c", "one", 0, 0}, {AE_IFREG, "l/e", "two", 0, 0}, {0, "h", "l/e", 0, 0});
    assert_int_equal(unpack(w), 0);
    assert_file(w, "x/d/b/c", "one");
    assert_file(w, "x/d/e", "two");
    assert_file(w, "h", "two");
    assert_link(w, "x/a", "./d/");
}

/* The file replaces the symlink. The symlink's target stays unchanged. */
static void test_a_file_replaces_a_symlink(void **state)
{
    struct fixture *w = *state;

    PACK(w, TAR, {AE_IFREG, "b", "kept", 0, 0}, {AE_IFLNK, "a", "b", 0, 0}, {AE_IFREG, "a", "new", 0, 0});
    assert_int_equal(unpack(w), 0);
    assert_file(w, "a", "new");
    assert_file(w, "b", "kept");
}

static void test_a_hard_link_that_leads_out_is_refused(void **state)
{
    PACK(*state, TAR, {0, "a", "../outside", 0, 0});
    assert_refused(*state, -EXDEV, "the target of the hard link is outside of the archive");
}

/* An absolute target of a hard link is looked up below the directory. There is no such file there. */
static void test_an_absolute_target_of_a_hard_link_is_searched_inside_only(void **state)
{
    PACK(*state, TAR, {0, "a", "/etc/passwd", 0, 0});
    assert_refused(*state, -EBADMSG, "the target of the hard link is not a file of the archive");
}

static void test_a_hard_link_to_a_symlink_is_unpacked(void **state)
{
    struct fixture *w = *state;

    PACK(w, TAR, {AE_IFLNK, "d/a", "/etc/passwd", 0, 0}, {0, "c", "d/a", 0, 0});
    assert_int_equal(unpack(w), 0);
    assert_link(w, "c", "/etc/passwd");
}

/* A symlink in the target of a hard link isn't followed. Following it would give a file outside a second name. */
static void test_a_hard_link_through_a_symlink_is_refused(void **state)
{
    PACK(*state, TAR, {AE_IFLNK, "d", "/etc", 0, 0}, {0, "c", "d/passwd", 0, 0});
    assert_refused(*state, -ELOOP, "contains a symbolic link that may lead out");
}

static int link_error; /* the error of a file system without hard links */

int __real_linkat(int from_fd, const char *from, int to_fd, const char *to, int flags);
int __wrap_linkat(int from_fd, const char *from, int to_fd, const char *to, int flags);

int __wrap_linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
    if (link_error == 0)
        return __real_linkat(from_fd, from, to_fd, to, flags);
    errno = link_error;
    return -1;
}

/* The file and the symlink are copied instead of linked. The bytes of the copies count as used. */
static void test_a_file_is_copied_if_the_file_system_has_no_hard_links(void **state)
{
    static const int errors[] = {EPERM, EMLINK, EOPNOTSUPP};
    struct fixture *w = *state;

    for (size_t i = 0; i < NM_ARRAY_SIZE(errors); i++) {
        if (i > 0) {
            (void)tear_down(state);
            (void)set_up(state);
            w = *state;
        }
        PACK(w, TAR, {AE_IFREG, "d/a", "one", 0, 0}, {0, "e/b", "d/a", 0, 0}, {AE_IFLNK, "l", "d/a", 0, 0},
             {0, "m", "l", 0, 0});
        link_error = errors[i];
        assert_int_equal(unpack(w), 0);
        link_error = 0;
        assert_file(w, "e/b", "one");
        assert_int_equal(mode_of(w, "e/b"), 0500);
        assert_link(w, "m", "d/a");
        assert_int_equal(w->bytes, 6);
    }
}

/* The bytes of copies count against the limit of all bytes. */
static void test_copied_bytes_count_against_the_limit(void **state)
{
    struct fixture *w = *state;

    w->params.most_bytes = 5;
    PACK(w, TAR, {AE_IFREG, "d/a", "one", 0, 0}, {0, "e/b", "d/a", 0, 0});
    link_error = EPERM;
    assert_int_equal(unpack(w), -EFBIG);
    link_error = 0;
}

/* Names are used as bytes, even if the archive marks them as text. */
static void test_names_in_a_tar_are_used_as_bytes(void **state)
{
    struct fixture *w = *state;
    locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0), before = uselocale(utf8);

    PACK(w, TAR, {AE_IFREG, "\xc3\xbc", "one", 0, 0}, {AE_IFREG, "u\xcc\x88", "two", 0, 0},
         {AE_IFREG, "\xff\x81", "three", 0, 0}, {AE_IFLNK, "l\xc3\xbc", "\xc3\xbc", 0, 0},
         {0, "h\xc3\xbc", "\xc3\xbc", 0, 0});
    (void)uselocale(before);
    if (utf8)
        freelocale(utf8);
    assert_int_equal(unpack(w), 0);
    assert_file(w, "\xc3\xbc", "one");
    assert_file(w, "u\xcc\x88", "two");
    assert_file(w, "\xff\x81", "three");
    assert_file(w, "l\xc3\xbc", "one");
    assert_file(w, "h\xc3\xbc", "one");
}

/* Sets or clears the UTF-8 flag of all entries. The flags of a zip entry are at offset 6 of its local header, and at
 * offset 8 of its entry in the central directory. Bit 11 means UTF-8. Java sets bit 11. */
static void set_utf8(struct fixture *w, bool is_utf8)
{
    const off_t size = lseek(w->source_fd, 0, SEEK_END);
    char *map = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, w->source_fd, 0);

    assert_ptr_not_equal(map, MAP_FAILED);
    for (off_t i = 0; i + 10 < size; i++)
        if (memcmp(map + i, "PK\3\4", 4) == 0)
            map[i + 7] = (char)((map[i + 7] & ~8) | (is_utf8 ? 8 : 0));
        else if (memcmp(map + i, "PK\1\2", 4) == 0)
            map[i + 9] = (char)((map[i + 9] & ~8) | (is_utf8 ? 8 : 0));
    (void)munmap(map, (size_t)size);
}

static void test_names_in_a_zip_with_the_utf8_flag_are_unpacked(void **state)
{
    struct fixture *w = *state;

    PACK(w, ZIP, {AE_IFREG, "d\xc3\xbc/\xf0\x9f\x98\x80.txt", "one", 0, 0},
         {AE_IFREG, "\xe6\x97\xa5\xe6\x9c\xac", "two", 0, 0});
    set_utf8(w, true);
    assert_int_equal(unpack(w), 0);
    assert_file(w, "d\xc3\xbc/\xf0\x9f\x98\x80.txt", "one");
    assert_file(w, "\xe6\x97\xa5\xe6\x9c\xac", "two");
}

static void test_names_in_a_zip_without_the_utf8_flag_are_used_as_bytes(void **state)
{
    struct fixture *w = *state;

    PACK(w, ZIP, {AE_IFREG, "\xc3\xbc", "one", 0, 0}, {AE_IFREG, "\x81\xff", "two", 0, 0});
    set_utf8(w, false);
    assert_int_equal(unpack(w), 0);
    assert_file(w, "\xc3\xbc", "one");
    assert_file(w, "\x81\xff", "two");
}

static void test_invalid_names_in_a_zip_are_refused(void **state)
{
    PACK(*state, ZIP, {AE_IFREG, "\xc3\xff", "one", 0, 0});
    set_utf8(*state, true);
    assert_refused(*state, -EBADMSG, "not in UTF-8 as the archive declares");
}

static void test_a_device_is_refused(void **state)
{
    PACK(*state, TAR, {AE_IFCHR, "null", NULL, 0, 0666});
    assert_refused(*state, -EBADMSG, "a device");
}

static void test_a_fifo_is_refused(void **state)
{
    PACK(*state, TAR, {AE_IFIFO, "pipe", NULL, 0, 0666});
    assert_refused(*state, -EBADMSG, "a pipe");
}

static void test_a_file_in_place_of_a_directory_is_an_error(void **state)
{
    PACK(*state, TAR, {AE_IFREG, "a/b", "x", 0, 0}, {AE_IFREG, "a", "x", 0, 0});
    assert_refused(*state, -EISDIR, "a directory with the same name exists");
}

static void test_an_archive_that_is_too_large_is_refused(void **state)
{
    PACK(*state, TAR_GZ, {AE_IFREG, "zeros", NULL, 65 << 20, 0});
    assert_refused(*state, -EFBIG, "may be a decompression bomb");
}

static void test_files_that_are_too_large_together_are_refused(void **state)
{
    struct fixture *w = *state;

    w->params.most_bytes = 100;
    PACK(w, ZIP, {AE_IFREG, "a", NULL, 60, 0}, {AE_IFREG, "b", NULL, 41, 0});
    assert_refused(w, -EFBIG, "the unpacked files are larger than allowed");
}

static void test_an_archive_of_the_largest_size_is_unpacked(void **state)
{
    struct fixture *w = *state;

    w->params.most_bytes = 100;
    w->params.most_entries = 2;
    PACK(w, ZIP, {AE_IFREG, "a", NULL, 60, 0}, {AE_IFREG, "b", NULL, 40, 0});
    assert_int_equal(unpack(w), 0);
    assert_int_equal(w->bytes, 100);
}

/* Directories that the archive has no entry for, but that names of other entries contain, count as entries, too. */
static void test_too_many_entries_are_refused(void **state)
{
    struct fixture *w = *state;

    w->params.most_entries = 4;
    PACK(w, TAR, {AE_IFREG, "a/b/c/d/e", "x", 0, 0});
    assert_refused(w, -EFBIG, "more entries");
}

static void test_an_archive_that_is_compressed_twice_is_refused(void **state)
{
    PACK(*state, TAR_GZ_GZ, {AE_IFREG, "a", "x", 0, 0});
    assert_refused(*state, -EBADMSG, "compressed more than once");
}

static void test_unpacking_for_too_long_is_stopped(void **state)
{
    struct fixture *w = *state;

    w->params.deadline_usec = nm_now_usec();
    PACK(w, TAR, {AE_IFREG, "a", "x", 0, 0});
    assert_refused(w, -ETIMEDOUT, "the time limit was reached");
}

static void test_a_file_that_is_not_an_archive_is_refused(void **state)
{
    struct fixture *w = *state;

    assert_int_equal(write(w->source_fd, "this is no archive", 18), 18);
    assert_refused(w, -EBADMSG, "can't unpack the archive");
}

static void test_a_truncated_archive_is_refused(void **state)
{
    struct fixture *w = *state;

    PACK(w, TAR_GZ, {AE_IFREG, "a", NULL, 1 << 20, 0});
    assert_int_equal(ftruncate(w->source_fd, lseek(w->source_fd, 0, SEEK_END) / 2), 0);
    assert_refused(w, -EBADMSG, "can't unpack the archive");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_tar_is_unpacked),
        TEST(test_a_tar_gz_is_unpacked),
        TEST(test_a_tar_xz_is_unpacked),
        TEST(test_a_zip_is_unpacked),
        TEST(test_a_public_archive_is_readable_by_all),
        TEST(test_a_hard_link_is_unpacked),
        TEST(test_a_file_is_copied_if_the_file_system_has_no_hard_links),
        TEST(test_copied_bytes_count_against_the_limit),
        TEST(test_only_matching_entries_are_unpacked),
        TEST(test_a_leading_slash_of_a_name_is_ignored),
        TEST(test_names_with_dots_that_lead_out_are_refused),
        TEST(test_names_with_dots_that_stay_inside_are_accepted),
        TEST(test_symlinks_of_a_tar_are_made),
        TEST(test_symlinks_of_a_zip_are_made),
        TEST(test_an_entry_below_a_symlink_that_leads_out_is_refused),
        TEST(test_an_entry_below_an_absolute_symlink_is_refused),
        TEST(test_an_entry_below_a_circular_symlink_is_refused),
        TEST(test_an_entry_below_a_file_is_refused),
        TEST(test_an_entry_below_a_symlink_that_stays_inside_is_unpacked),
        TEST(test_a_file_replaces_a_symlink),
        TEST(test_a_hard_link_that_leads_out_is_refused),
        TEST(test_an_absolute_target_of_a_hard_link_is_searched_inside_only),
        TEST(test_a_hard_link_to_a_symlink_is_unpacked),
        TEST(test_a_hard_link_through_a_symlink_is_refused),
        TEST(test_names_in_a_tar_are_used_as_bytes),
        TEST(test_names_in_a_zip_with_the_utf8_flag_are_unpacked),
        TEST(test_names_in_a_zip_without_the_utf8_flag_are_used_as_bytes),
        TEST(test_invalid_names_in_a_zip_are_refused),
        TEST(test_a_device_is_refused),
        TEST(test_a_fifo_is_refused),
        TEST(test_a_file_in_place_of_a_directory_is_an_error),
        TEST(test_an_archive_that_is_too_large_is_refused),
        TEST(test_files_that_are_too_large_together_are_refused),
        TEST(test_an_archive_of_the_largest_size_is_unpacked),
        TEST(test_too_many_entries_are_refused),
        TEST(test_an_archive_that_is_compressed_twice_is_refused),
        TEST(test_unpacking_for_too_long_is_stopped),
        TEST(test_a_file_that_is_not_an_archive_is_refused),
        TEST(test_a_truncated_archive_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
