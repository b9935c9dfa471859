/* SPDX-License-Identifier: Apache-2.0 */

/* Reads the kernel's limit of tasks (processes and threads) on this node. */

#include "monitor/monitor.h"

#include <assert.h>
#include <fcntl.h>

#include "monitor/parse.h"
#include "util/error.h"
#include "util/fileio.h"

static int read_number(int dir_fd, const char *name, uint64_t *ret)
{
    char text[32];
    int r = nm_read_file_at(dir_fd, name, text, sizeof text, NULL);

    return r < 0 ? r : nm_monitor_parse_counter(text, ret);
}

/* threads-max depends on the memory: some 8 per MiB. The limit of process ids may be lower. */
int nm_tasks_max(const char *proc_root, uint64_t *ret)
{
    _cleanup_close_ int fd = open(proc_root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    uint64_t threads, pids;
    int r;

    assert(ret);
    if (fd < 0)
        return -errno;
    r = read_number(fd, "sys/kernel/threads-max", &threads);
    if (r >= 0)
        r = read_number(fd, "sys/kernel/pid_max", &pids);
    if (r < 0)
        return r;
    *ret = NM_MIN(threads, pids);
    return 0;
}
