/* SPDX-License-Identifier: Apache-2.0 */

/* See uploader.h. */

#include "aggregate/worker/uploader.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "aggregate/worker/remote-dirs.h"
#include "aggregate/worker/upload.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/fileio.h"

static int read_work(int fd, struct nm_upload_work *ret)
{
    _cleanup_free_ char *text = NULL, *message = NULL;
    size_t size = 0;
    int r = nm_read_to_end(fd, NM_UPLOAD_WORK_MAX_BYTES, &text, &size);

    if (r >= 0)
        r = nm_upload_work_parse(text, size, ret, &message);
    if (r < 0)
        (void)fprintf(stderr, "nm-log-uploader: %s\n", message ? message : strerror(-r));
    return r;
}

/* Limits the damage that a bug in a library can do with the user's rights. A closed pipe must make a write fail instead
 * of killing the process. */
static void limit_self(void)
{
    const struct rlimit core = {0};

    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    (void)setrlimit(RLIMIT_CORE, &core);
    (void)signal(SIGXFSZ, SIG_IGN);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)umask(027);
}

static int do_work(const struct nm_upload_work *work, struct nm_upload_report *report, struct nm_upload_result *ret,
                   char **ret_message)
{
    const uint64_t deadline_usec = nm_add_u64(nm_now_usec(), work->time_usec);
    const char *user = work->prepares ? (*work->remote_owner ? work->remote_owner : NULL) : work->user;
    _cleanup_(nm_target_freep) struct nm_target *target = NULL;
    int r = work->remote.scheme == NM_URI_FILE
                ? nm_target_file_new(work, deadline_usec, &target, ret_message)
                : nm_target_hdfs_new(work, user, deadline_usec, &target, ret_message);

    if (r < 0)
        return r;
    return work->prepares ? nm_remote_dirs_prepare(work, target, report, ret_message)
                          : nm_upload(work, target, report, ret, ret_message);
}

enum nm_uploader_status nm_uploader_run(int work_fd, int report_fd)
{
    _cleanup_(nm_upload_work_done) struct nm_upload_work work = {0};
    struct nm_upload_report report = {.fd = report_fd};
    struct nm_upload_result result = {0};
    _cleanup_free_ char *message = NULL;
    int r;

    if (read_work(work_fd, &work) < 0)
        return NM_UPLOADER_NO_WORK;
    limit_self();
    r = do_work(&work, &report, &result, &message);
    if (r < 0)
        nm_upload_report_failed(&report, r, message ? message : strerror(-r));
    else
        nm_upload_report_done(&report, result.bytes, result.n_files, result.name ? result.name : "");
    free(result.name);
    return r < 0 ? NM_UPLOADER_FAILED : NM_UPLOADER_DONE;
}
