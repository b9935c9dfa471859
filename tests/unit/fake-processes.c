/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/fake-processes.h"
#include "util/fileio.h"

struct fake_process_kernel kernel;

int __real_nm_read_file_at(int dir_fd, const char *name, char *buf, size_t size, size_t *ret_len);
int __wrap_nm_read_file_at(int dir_fd, const char *name, char *buf, size_t size, size_t *ret_len);
ssize_t __real_read(int fd, void *buf, size_t size);
ssize_t __wrap_read(int fd, void *buf, size_t size);
DIR *__real_fdopendir(int fd);
DIR *__wrap_fdopendir(int fd);
long __wrap_syscall(long number, ...);

int __wrap_nm_read_file_at(int dir_fd, const char *name, char *buf, size_t size, size_t *ret_len)
{
    const char *text = strncmp(name, "/proc/", 6) == 0 ? kernel.member : strstr(name, "/stat") ? kernel.stat : NULL;

    if (!text)
        return __real_nm_read_file_at(dir_fd, name, buf, size, ret_len);
    (void)snprintf(buf, size, "%s", text);
    return 0;
}

static long with_errno(int error)
{
    errno = error;
    return -1;
}

ssize_t __wrap_read(int fd, void *buf, size_t size)
{
    int error = kernel.n_reads < NM_ARRAY_SIZE(kernel.read_fails) ? kernel.read_fails[kernel.n_reads] : 0;

    kernel.n_reads++;
    return error ? with_errno(error) : __real_read(fd, buf, size);
}

DIR *__wrap_fdopendir(int fd)
{
    if (!kernel.fdopendir_fails)
        return __real_fdopendir(fd);
    errno = kernel.fdopendir_fails;
    return NULL;
}

static long bpf(enum bpf_cmd cmd)
{
    int error = kernel.bpf_fails[0];

    kernel.bpf_fails[0] = kernel.bpf_fails[1];
    if (error)
        return with_errno(error);
    return cmd == BPF_PROG_LOAD ? open("/dev/null", O_RDONLY | O_CLOEXEC) : 0;
}

/* Replaces the system calls. Counts signals instead of sending them. */
long __wrap_syscall(long number, ...)
{
    va_list ap;
    int first;

    va_start(ap, number);
    first = va_arg(ap, int);
    va_end(ap);
    switch (number) {
    case SYS_pidfd_open:
        return kernel.pidfd_open_fails ? with_errno(kernel.pidfd_open_fails) : open("/dev/null", O_RDONLY | O_CLOEXEC);
    case SYS_pidfd_send_signal:
        if (kernel.send_fails)
            return with_errno(kernel.send_fails);
        kernel.n_signals++;
        return 0;
    case SYS_bpf:
        return bpf((enum bpf_cmd)first);
    default:
        fail_msg("system call %ld", number);
        return with_errno(ENOSYS);
    }
}

int fake_processes_set_up(void **state)
{
    struct fixture *w = calloc(1, sizeof *w);

    assert_non_null(w);
    memset(&kernel, 0, sizeof kernel);
    fake_tree_init(&w->dir);
    fake_tree_write(&w->dir, "cgroup.procs", "100\n200\n");
    assert_int_equal(nm_cgroup_open(w->dir.path, NAME, &w->cg), 0);
    *state = w;
    return 0;
}

int fake_processes_tear_down(void **state)
{
    struct fixture *w = *state;

    memset(&kernel, 0, sizeof kernel);
    nm_cgroup_free(w->cg);
    fake_tree_done(&w->dir);
    free(w);
    return 0;
}

void write_processes(struct fixture *w, const char *name, int first, int n)
{
    char *text = malloc(8 * (size_t)n + 1);
    size_t len = 0;

    assert_non_null(text);
    for (int i = 0; i < n; i++)
        len += (size_t)snprintf(text + len, 8, "%d\n", first + i);
    fake_tree_write(&w->dir, name, text);
    free(text);
}
