/* SPDX-License-Identifier: Apache-2.0 */

/* See log-uploader-fixture.h. */

#include "log-uploader-fixture.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/unit/remove-tree.h"

char root[] = "/tmp/nmd-test-upload.XXXXXX";
char output[1 << 16];
int status;
const char *format;

char *path_of(const char *name)
{
    char *path = nm_strdup_printf("%s/%s", root, name);

    assert_non_null(path);
    return path;
}

void make_dir(const char *name, mode_t mode)
{
    _cleanup_free_ char *path = path_of(name);

    assert_int_equal(mkdir(path, mode), 0);
    assert_int_equal(chmod(path, mode), 0);
}

int write_new(const char *path, const char *text)
{
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);

    return fd < 0 ? -errno : nm_write_all(fd, text, strlen(text));
}

/* Writes to the end of a log of the container, in the first log directory. */
void add_log(const char *name, const char *text)
{
    _cleanup_free_ char *path = nm_strdup_printf("%s/l1/" APPLICATION "/" CONTAINER "/%s", root, name);
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);

    assert_true(fd >= 0);
    assert_int_equal(nm_write_all(fd, text, strlen(text)), 0);
}

char *log_path(const char *name)
{
    char *path = nm_strdup_printf("%s/l1/" APPLICATION "/" CONTAINER "/%s", root, name);

    assert_non_null(path);
    return path;
}

int set_up(void **state)
{
    static const char *const dirs[] = {"l1", "l1/" APPLICATION, "l1/" APPLICATION "/" CONTAINER, "l2",
                                       "l2/" APPLICATION};

    (void)state;
    format = "TFile";
    assert_int_equal(mkdir(root, 0755) == 0 || errno == EEXIST, 1);
    for (size_t i = 0; i < NM_ARRAY_SIZE(dirs); i++)
        make_dir(dirs[i], 0755);
    make_dir("remote", 01777);
    return 0;
}

int tear_down(void **state)
{
    (void)state;
    return remove_tree(root);
}

/* Runs the uploader with this work. fault: the step at which the uploader dies; NULL: it doesn't die. */
void run(const char *work, const char *fault)
{
    int in[2], out[2], wstatus;
    size_t len = 0;
    pid_t pid;

    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)close(in[1]), (void)close(out[0]);
        if (fault)
            (void)setenv("NMD_FAULT", fault, 1);
        _exit((int)nm_uploader_run(in[0], out[1]));
    }
    (void)close(in[0]), (void)close(out[1]);
    assert_int_equal(nm_write_all(in[1], work, strlen(work)), 0);
    (void)close(in[1]);
    for (ssize_t n; len < sizeof output - 1 && (n = read(out[0], output + len, sizeof output - 1 - len)) > 0;)
        len += (size_t)n;
    output[len] = '\0';
    (void)close(out[0]);
    assert_int_equal(waitpid(pid, &wstatus, 0), pid);
    status = WIFEXITED(wstatus) ? WEXITSTATUS(wstatus) : -WTERMSIG(wstatus);
}

char *make_work(uint64_t msec, const char *remote, const char *more)
{
    char *work = nm_strdup_printf(
        "{\"application\":\"" APPLICATION "\",\"user\":\"alice\",\"node\":\"n:1\",\"suffix\":\"s\","
        "\"format\":\"%s\",\"log_dirs\":[\"%s/l1\",\"%s/l2\"],\"upload_msec\":%" PRIu64 ",\"remote\":\"%s%s%s\",%s}",
        format, root, root, msec, *remote == '/' ? "file://" : "", *remote == '/' ? root : "", remote, more);

    assert_non_null(work);
    return work;
}

void upload_until(uint64_t msec, const char *more, const char *fault)
{
    _cleanup_free_ char *work = make_work(msec, "/remote", more);

    run(work, fault);
}

void upload(uint64_t msec, const char *more)
{
    upload_until(msec, more, NULL);
    if (status != NM_UPLOADER_DONE)
        fail_msg("failed: %s", output);
}

void assert_output(const char *part)
{
    if (!strstr(output, part))
        fail_msg("no '%s' in: %s", part, output);
}

/* Returns how often a text is in the complete files of the remote directory. */
unsigned count_remote(const char *text)
{
    _cleanup_free_ char *path = path_of(DIR_OF_APPLICATION);
    _cleanup_closedir_ DIR *dir = opendir(path);
    unsigned n = 0;

    for (struct dirent *e; dir && (e = readdir(dir));) {
        _cleanup_free_ uint8_t *bytes = NULL;
        size_t size;

        if (*e->d_name == '.' || strstr(e->d_name, ".tmp") || strstr(e->d_name, "-checksum"))
            continue;
        assert_int_equal(nm_read_regular_at(dirfd(dir), e->d_name, 1 << 20, &bytes, &size), 0);
        for (uint8_t *p = bytes; (p = memmem(p, size - (size_t)(p - bytes), text, strlen(text))); p++)
            n++;
    }
    return n;
}

bool exists(const char *name)
{
    _cleanup_free_ char *path = path_of(name);

    return faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

unsigned mode_of(const char *name)
{
    _cleanup_free_ char *path = path_of(name);
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

uint64_t size_of(const char *name)
{
    _cleanup_free_ char *path = path_of(name);
    struct stat st;

    assert_int_equal(lstat(path, &st), 0);
    return (uint64_t)st.st_size;
}

int set_up_group(void **state)
{
    (void)state;
    return mkdtemp(root) ? 0 : -1;
}
