/* SPDX-License-Identifier: Apache-2.0 */

/* util/fileio.h and util/log.h on real files in a temporary directory. Also util/fnv1a.h and util/error.h. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/stat.h>

#include "tests/unit/remove-tree.h"
#include "util/error.h"
#include "util/fileio.h"
#include "util/fnv1a.h"
#include "util/log.h"
#include "util/macros.h"

static char directory[64];
static int dir_fd = -EBADF;

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(directory, sizeof directory, "/tmp/nmd-test-fileio-XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    dir_fd = open(directory, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    return dir_fd < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    dir_fd = nm_close(dir_fd);
    return remove_tree(directory);
}

static void put(const char *name, const char *text)
{
    assert_int_equal(nm_write_file_atomic_at(dir_fd, name, text, 0644), 0);
}

static void test_a_file_is_read_up_to_the_size_of_the_buffer(void **state)
{
    char buf[8] = "before";
    size_t len = 99;

    (void)state;
    assert_int_equal(nm_read_file_at(dir_fd, "none", buf, sizeof buf, &len), -ENOENT);
    assert_int_equal(len, 99);
    put("f", "1234567"); /* with the terminating NUL the text fills the buffer exactly */
    assert_int_equal(nm_read_file_at(dir_fd, "f", buf, sizeof buf, &len), 0);
    assert_int_equal(len, 7);
    assert_string_equal(buf, "1234567");
    put("f", "12345678");
    assert_int_equal(nm_read_file_at(dir_fd, "f", buf, sizeof buf, &len), -E2BIG);
    assert_int_equal(nm_read_file_at(dir_fd, "f", buf, 0, NULL), -E2BIG);
    put("f", "");
    assert_int_equal(nm_read_file_at(dir_fd, "f", buf, sizeof buf, NULL), 0);
    assert_string_equal(buf, "");
    assert_int_equal(nm_read_file_at(dir_fd, ".", buf, sizeof buf, NULL), -EISDIR);
}

/* A pipe without a writer would block a reader that waits for it. */
static void test_only_regular_files_of_operators_are_read(void **state)
{
    char buf[8] = "old";
    size_t len = 99;

    (void)state;
    put("f", "text");
    assert_int_equal(symlinkat("f", dir_fd, "link"), 0);
    assert_int_equal(nm_read_plain_file_at(dir_fd, "link", buf, sizeof buf, &len), 0);
    assert_string_equal(buf, "text");
    assert_int_equal(len, 4);
    assert_int_equal(mkfifoat(dir_fd, "fifo", 0600), 0);
    alarm(20);
    assert_int_equal(nm_read_plain_file_at(dir_fd, "fifo", buf, sizeof buf, &len), -EBADMSG);
    alarm(0);
    assert_int_equal(nm_read_plain_file_at(dir_fd, "none", buf, sizeof buf, &len), -ENOENT);
    assert_int_equal(nm_read_plain_file_at(dir_fd, ".", buf, sizeof buf, &len), -EISDIR);
    assert_int_equal(nm_read_plain_file_at(AT_FDCWD, "/dev/zero", buf, sizeof buf, &len), -EBADMSG);
    assert_string_equal(buf, "text");
    assert_int_equal(len, 4);
    assert_int_equal(unlinkat(dir_fd, "link", 0), 0);
    assert_int_equal(unlinkat(dir_fd, "fifo", 0), 0);
}

static void test_an_interrupted_read_is_repeated(void **state)
{
    _cleanup_close_ int fd = -EBADF;
    char buf[16];

    (void)state;
    assert_int_equal(nm_write_file_at(dir_fd, "none", "x"), -ENOENT); /* the function never creates a file */
    put("f", "one");
    fd = openat(dir_fd, "f", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(nm_pread_file(fd, buf, sizeof buf, NULL), 0);
        assert_string_equal(buf, "one");
    }
    assert_int_equal(nm_write_file_at(dir_fd, "f", "two"), 0);
    assert_int_equal(nm_pread_file(fd, buf, sizeof buf, NULL), 0);
    assert_string_equal(buf, "two");
}

static void test_a_file_is_replaced_completely_or_not_at_all(void **state)
{
    char buf[64];
    struct stat st;

    (void)state;
    assert_int_equal(nm_write_file_atomic_at(dir_fd, "f", "a longer first text", 0600), 0);
    assert_int_equal(nm_write_file_atomic_at(dir_fd, "f", "short", 0600), 0);
    assert_int_equal(nm_read_file_at(dir_fd, "f", buf, sizeof buf, NULL), 0);
    assert_string_equal(buf, "short");
    assert_int_equal(fstatat(dir_fd, "f", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    /* if a file can't be replaced, it is kept, and the temporary file is removed */
    assert_int_equal(mkdirat(dir_fd, "d", 0755), 0);
    assert_int_equal(nm_write_file_atomic_at(dir_fd, "d", "x", 0600), -EISDIR);
    assert_int_equal(faccessat(dir_fd, ".d.new", F_OK, 0), -1);
    assert_int_equal(nm_write_file_atomic_at(dir_fd, "none/f", "x", 0600), -ENOENT);
    {
        char name[300];
        memset(name, 'n', sizeof name - 1);
        name[sizeof name - 1] = '\0';
        assert_int_equal(nm_write_file_atomic_at(dir_fd, name, "x", 0600), -ENAMETOOLONG);
    }
}

static void test_an_atomic_write_follows_no_link(void **state)
{
    char buf[16];

    (void)state;
    put("victim", "mine");
    assert_int_equal(symlinkat("victim", dir_fd, ".f.new"), 0);
    assert_int_equal(nm_write_file_atomic_at(dir_fd, "f", "x", 0600), -ELOOP);
    assert_int_equal(nm_read_file_at(dir_fd, "victim", buf, sizeof buf, NULL), 0);
    assert_string_equal(buf, "mine");
}

static void test_missing_parents_are_created(void **state)
{
    char path[128];
    struct stat st;

    (void)state;
    (void)snprintf(path, sizeof path, "%s/a//b/c", directory);
    assert_int_equal(nm_mkdir_p(path, 0750), 0);
    assert_int_equal(nm_mkdir_p(path, 0750), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_true(S_ISDIR(st.st_mode));
    (void)snprintf(path, sizeof path, "%s/x/", directory);
    assert_int_equal(nm_mkdir_p(path, 0750), 0);
    put("file", "");
    (void)snprintf(path, sizeof path, "%s/file", directory);
    assert_int_equal(nm_mkdir_p(path, 0750), -ENOTDIR);
    (void)snprintf(path, sizeof path, "%s/file/below", directory);
    assert_int_equal(nm_mkdir_p(path, 0750), -ENOTDIR);
    assert_int_equal(nm_mkdir_p("", 0750), -ENOENT);
    assert_int_equal(nm_mkdir_p("/", 0750), 0);
}

static void would_make(const char *below, int expected)
{
    char path[128];

    (void)snprintf(path, sizeof path, "%s/%s", directory, below);
    assert_int_equal(nm_check_mkdir_p(path), expected);
}

/* nm_check_mkdir_p() returns the result that nm_mkdir_p() would have, as far as it can be predicted. It makes no
 * directory. */
static void test_the_result_of_mkdir_p_is_predicted(void **state)
{
    (void)state;
    put("file", "");
    assert_int_equal(symlinkat("nowhere", dir_fd, "link"), 0);
    would_make("", 0);
    would_make("new", 0);
    would_make("new/below//that/", 0);
    would_make("file", -ENOTDIR);
    would_make("file/below", -ENOTDIR);
    would_make("link", -ENOENT);
    assert_int_equal(faccessat(dir_fd, "new", F_OK, 0), -1);
    assert_int_equal(nm_check_mkdir_p(""), -ENOENT);
    assert_int_equal(nm_check_mkdir_p("/"), 0);
    assert_int_equal(nm_check_mkdir_p("new-one-here"), 0);
}

static void expect_beneath(const char *path, int expected)
{
    _cleanup_close_ int fd = nm_open_beneath(dir_fd, path, O_RDONLY);

    if (expected == 0 ? fd < 0 : fd != expected)
        fail_msg("\"%s\": got %d, expected %d", path, fd, expected);
}

static void test_a_path_stays_beneath_its_directory(void **state)
{
    _cleanup_close_ int fd = -EBADF;

    (void)state;
    assert_int_equal(mkdirat(dir_fd, "sub", 0755), 0);
    assert_int_equal(mkdirat(dir_fd, "sub/deep", 0755), 0);
    put("inside", "x");
    assert_int_equal(symlinkat("../inside", dir_fd, "sub/good"), 0);
    assert_int_equal(symlinkat("/etc/passwd", dir_fd, "absolute"), 0);
    assert_int_equal(symlinkat("../..", dir_fd, "sub/up"), 0);
    assert_int_equal(symlinkat("loop", dir_fd, "loop"), 0);
    assert_int_equal(symlinkat("/proc/self/root", dir_fd, "magic"), 0);

    expect_beneath("inside", 0);
    expect_beneath("sub/good", 0);
    expect_beneath("sub/deep/../../inside", 0);
    expect_beneath("none", -ENOENT);
    expect_beneath("..", -EXDEV);
    expect_beneath("sub/../../etc", -EXDEV);
    expect_beneath("/etc/passwd", -EXDEV);
    expect_beneath("absolute", -EXDEV);
    expect_beneath("magic", -EXDEV);
    expect_beneath("sub/up/tmp", -EXDEV);
    expect_beneath("loop", -ELOOP);

    fd = nm_open_beneath(dir_fd, "sub/good", O_WRONLY);
    assert_true(fd >= 0);
    assert_int_equal(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

static void expect_in_root(const char *path, int expected)
{
    _cleanup_close_ int fd = nm_open_in_root(dir_fd, path, O_PATH | O_DIRECTORY);

    if (expected == 0 ? fd < 0 : fd != expected)
        fail_msg("\"%s\": got %d, expected %d", path, fd, expected);
}

/* Paths are resolved as in a process that has this root directory. */
static void test_a_path_is_opened_below_a_root(void **state)
{
    (void)state;
    assert_int_equal(mkdirat(dir_fd, "home", 0755), 0);
    assert_int_equal(mkdirat(dir_fd, "home/me", 0755), 0);
    assert_int_equal(symlinkat("/home/me", dir_fd, "short"), 0);
    assert_int_equal(symlinkat("/proc/self/cwd", dir_fd, "home/cwd"), 0);

    expect_in_root("/", 0);
    expect_in_root("/home/me", 0);
    expect_in_root("/short", 0);
    expect_in_root("/../../home", 0);
    expect_in_root("/etc", -ENOENT);
    expect_in_root("/home/cwd", -ENOENT);
}

static void test_magic_links_of_proc_are_refused(void **state)
{
    _cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY), fd = -EBADF;

    (void)state;
    assert_int_equal(nm_open_in_root(root, "/proc/self/cwd", O_PATH | O_DIRECTORY), -ELOOP);
    assert_int_equal(nm_open_in_root(root, "/proc/self/root", O_PATH | O_DIRECTORY), -ELOOP);
    fd = nm_open_in_root(root, "/proc/self", O_PATH | O_DIRECTORY); /* an ordinary symbolic link is followed */
    assert_true(fd >= 0);
}

static void expect_private(const char *name, mode_t mode, uid_t owner, int expected)
{
    _cleanup_close_ int fd = openat(dir_fd, name, O_RDONLY | O_DIRECTORY);

    assert_true(fd >= 0);
    assert_int_equal(fchown(fd, owner, (gid_t)-1), 0);
    assert_int_equal(fchmod(fd, mode), 0);
    assert_int_equal(nm_check_private_dir(fd), expected);
}

static void test_a_directory_of_another_owner_or_with_other_writers_is_not_private(void **state)
{
    uid_t me = geteuid();

    (void)state;
    assert_int_equal(mkdirat(dir_fd, "mine", 0700), 0);
    expect_private("mine", 0700, me, 0);
    expect_private("mine", 0755, me, 0);
    expect_private("mine", 0770, me, -EPERM);
    expect_private("mine", 01777, me, -EPERM);
    if (me == 0)
        expect_private("mine", 0700, 54321, -EPERM);
}

static void test_the_log_level_selects_messages(void **state)
{
    int level = -1;

    (void)state;
    assert_int_equal(nm_log_level_from_string("warning", &level), 0);
    assert_int_equal(level, LOG_WARNING);
    assert_int_equal(nm_log_level_from_string("debug", &level), 0);
    assert_int_equal(level, LOG_DEBUG);
    assert_int_equal(nm_log_level_from_string("loud", &level), -EINVAL);
    assert_int_equal(nm_log_level_from_string("", &level), -EINVAL);
    assert_int_equal(level, LOG_DEBUG);
    assert_int_equal(nm_log_level(), LOG_INFO);
}

/* The lines on stderr at each level, and their format. */
static void test_log_lines_of_each_level_have_their_format(void **state)
{
    _cleanup_close_ int file = openat(dir_fd, "log", O_RDWR | O_CREAT | O_CLOEXEC, 0600),
                        saved = dup(STDERR_FILENO);
    char buf[4096];

    (void)state;
    assert_true(file >= 0 && saved >= 0);
    assert_true(dup2(file, STDERR_FILENO) >= 0);
    nm_log_init(NM_LOG_AUTO); /* stderr is a file, so the log doesn't go to the journal, whatever the value of
                                 $JOURNAL_STREAM is */
    nm_log_set_level(LOG_WARNING);
    nm_info("dropped");
    nm_warning("kept %d", 1);
    nm_log_container(LOG_ERR, "container_1_000001", "7", NULL, "two\nlines\x1b[31m");
    nm_log_set_level(LOG_INFO);
    assert_true(dup2(saved, STDERR_FILENO) >= 0);
    assert_int_equal(nm_read_file_at(dir_fd, "log", buf, sizeof buf, NULL), 0);
    assert_null(strstr(buf, "dropped"));
    assert_non_null(strstr(buf, "nmd warning kept 1\n"));
    assert_non_null(strstr(buf, "nmd err     two?lines?[31m\n"));
}

static size_t count_entries(DIR *dir)
{
    size_t n = 0;

    for (const struct dirent *d; (d = readdir(dir));)
        n += d->d_name[0] != '.';
    return n;
}

/* Two streams of one directory have separate positions. A descriptor of another file type is closed, too. */
static void test_two_streams_of_a_directory_are_independent(void **state)
{
    DIR *dir = NULL, *other = NULL, *const untouched = (DIR *)(uintptr_t)&dir_fd;
    int fd;

    (void)state;
    put("a", "");
    put("b", "");
    assert_int_equal(nm_opendir_at(dir_fd, &dir), 0);
    assert_int_equal(nm_opendir_at(dir_fd, &other), 0);
    assert_int_equal(count_entries(dir), 2);
    assert_int_equal(count_entries(other), 2);
    closedir(dir);
    closedir(other);
    fd = openat(dir_fd, "a", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    dir = untouched;
    assert_int_equal(nm_opendir_at(fd, &dir), -ENOTDIR);
    assert_int_equal(nm_fdopendir(-ELOOP, &dir), -ELOOP);
    assert_int_equal(nm_fdopendir(fd, &dir), -ENOTDIR);
    assert_int_equal(fcntl(fd, F_GETFD), -1);
    assert_ptr_equal(dir, untouched);
}

static void test_hashes_equal_those_of_the_reference(void **state)
{
    (void)state;
    assert_int_equal(nm_fnv1a_32("", 0), UINT32_C(0x811c9dc5));
    assert_int_equal(nm_fnv1a_32("foobar", 6), UINT32_C(0xbf9cf968));
    assert_true(nm_fnv1a_64("") == UINT64_C(0xcbf29ce484222325));
    assert_true(nm_fnv1a_64("foobar") == UINT64_C(0x85944171f73967e8));
}

static void test_strdup_printf_allocates_the_formatted_text(void **state)
{
    _cleanup_free_ char *text = nm_strdup_printf("%s %d", "a", 7);

    (void)state;
    assert_string_equal(text, "a 7");
}

/* A stream is read to its end in any number of pieces. One that is longer than the limit is refused. */
static void test_a_stream_is_read_to_its_end(void **state)
{
    char *text = NULL;
    size_t size = 0;
    int fd[2];

    (void)state;
    assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
    assert_int_equal(write(fd[1], "abc", 3), 3);
    assert_int_equal(close(fd[1]), 0);
    assert_int_equal(nm_read_to_end(fd[0], 3, &text, &size), 0);
    assert_int_equal(size, 3);
    assert_memory_equal(text, "abc", 3);
    free(text);
    assert_int_equal(close(fd[0]), 0);

    assert_int_equal(pipe2(fd, O_CLOEXEC), 0);
    assert_int_equal(write(fd[1], "abcd", 4), 4);
    text = NULL;
    assert_int_equal(nm_read_to_end(fd[0], 3, &text, &size), -E2BIG); /* the other end is still open */
    assert_null(text);
    assert_int_equal(close(fd[0]), 0);
    assert_int_equal(close(fd[1]), 0);
    assert_int_equal(nm_read_to_end(-EBADF, 3, &text, &size), -EBADF);
}

int main(void)
{
#define WITH_DIRECTORY(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_stream_is_read_to_its_end),
        WITH_DIRECTORY(test_a_file_is_read_up_to_the_size_of_the_buffer),
        WITH_DIRECTORY(test_only_regular_files_of_operators_are_read),
        WITH_DIRECTORY(test_an_interrupted_read_is_repeated),
        WITH_DIRECTORY(test_a_file_is_replaced_completely_or_not_at_all),
        WITH_DIRECTORY(test_an_atomic_write_follows_no_link),
        WITH_DIRECTORY(test_missing_parents_are_created),     WITH_DIRECTORY(test_the_result_of_mkdir_p_is_predicted),
        WITH_DIRECTORY(test_a_path_stays_beneath_its_directory),
        WITH_DIRECTORY(test_a_path_is_opened_below_a_root),     cmocka_unit_test(test_magic_links_of_proc_are_refused),
        WITH_DIRECTORY(test_a_directory_of_another_owner_or_with_other_writers_is_not_private),
        WITH_DIRECTORY(test_two_streams_of_a_directory_are_independent),
        cmocka_unit_test(test_hashes_equal_those_of_the_reference),
        cmocka_unit_test(test_strdup_printf_allocates_the_formatted_text),
        cmocka_unit_test(test_the_log_level_selects_messages),
        WITH_DIRECTORY(test_log_lines_of_each_level_have_their_format),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
