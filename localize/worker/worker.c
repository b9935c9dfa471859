/* SPDX-License-Identifier: Apache-2.0 */

/* See worker.h. */

#include "localize/worker/worker.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "localize/worker/fetch.h"
#include "localize/worker/install.h"
#include "localize/worker/work.h"
#include "localize/worker/worker-report.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/fileio.h"

static int read_work(int fd, struct nm_work *ret)
{
    _cleanup_free_ char *text = NULL, *message = NULL;
    size_t size = 0;
    int r = nm_read_to_end(fd, NM_WORK_MAX_BYTES, &text, &size);

    if (r >= 0)
        r = nm_work_parse(text, size, ret, &message);
    if (r < 0)
        (void)fprintf(stderr, "nm-localizer: %s\n", message ? message : strerror(-r));
    return r;
}

/* Limits the damage that a bug in a library can do with the user's rights: disables core dumps, and limits file sizes
 * to the largest allowed resource. */
static void limit_self(const struct nm_work_limits *limits)
{
    const uint64_t most_bytes = NM_MAX(limits->fetch_bytes, limits->unpacked_bytes);
    const struct rlimit file = {.rlim_cur = most_bytes, .rlim_max = most_bytes}, core = {0};

    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    (void)setrlimit(RLIMIT_FSIZE, &file);
    (void)setrlimit(RLIMIT_CORE, &core);
    /* a file that becomes too long and a closed pipe must make a write fail instead of killing the worker */
    (void)signal(SIGXFSZ, SIG_IGN);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)umask(022);
}

static bool do_resource(struct nm_fetch *f, const struct nm_work_resource *res)
{
    _cleanup_free_ char *message = NULL;
    bool is_listed = false;
    uint64_t bytes = 0;
    int r = nm_install(f, res, &bytes, &is_listed, &message);

    if (r < 0)
        nm_worker_report_failed(f->report, r, message ? message : strerror(-r));
    else
        nm_worker_report_done(f->report, bytes, is_listed);
    return r >= 0;
}

/* Executes a removal. Removals are executed before fetches, because they make room. */
static bool do_removal(struct nm_worker_report *report, const char *target)
{
    _cleanup_free_ char *message = NULL;
    int r = nm_uninstall(target, report, &message);

    if (r < 0)
        nm_worker_report_failed(report, r, message ? message : strerror(-r));
    else
        nm_worker_report_done(report, 0, false);
    return r >= 0;
}

static bool do_removals(struct nm_worker_report *report, json_t *targets)
{
    bool all = true;
    json_t *target;

    report->list = "removal";
    report->last_usec = nm_now_usec(); /* most removals end before their first report is due */
    json_array_foreach(targets, report->index, target)
        all = do_removal(report, json_string_value(target)) && all;
    return all;
}

/* Executes the checks, which share one time limit because a container waits for all of them. If a check needs less
 * time, the remaining time can be used for the next checks. */
static bool do_checks(struct nm_worker_report *report, json_t *targets)
{
    const uint64_t end_usec = nm_now_usec() + NM_LISTING_CHECK_USEC;
    bool all = true;
    json_t *target;

    report->list = "check";
    json_array_foreach(targets, report->index, target) {
        const uint64_t now_usec = nm_now_usec(), n_left = json_array_size(targets) - report->index;
        const uint64_t usec = nm_sub_u64(end_usec, now_usec) / n_left;
        _cleanup_free_ char *message = NULL;
        int r = nm_listing_check(json_string_value(target), now_usec + usec, &message);

        if (r == NM_LISTING_E_BROKEN)
            nm_worker_report_failed(report, -ESTALE, message ?: "a file is missing");
        else
            nm_worker_report_done(report, 0, false);
        all = all && r != NM_LISTING_E_BROKEN;
    }
    return all;
}

/* Fetches the resources. After a failure continues with the other resources, because other containers may be waiting
 * for them. */
static bool do_resources(struct nm_fetch *f)
{
    bool all = true;

    f->report->list = "resource";
    for (size_t i = 0; i < f->work->n_resources; i++) {
        f->report->index = i;
        f->report->last_usec = 0;
        all = do_resource(f, &f->work->resources[i]) && all;
    }
    return all;
}

enum nm_worker_status nm_worker_run(int work_fd, int report_fd)
{
    _cleanup_(nm_work_done) struct nm_work work = {0};
    _cleanup_(nm_http_freep) struct nm_http *http = NULL;
    struct nm_worker_report report = {.fd = report_fd};
    struct nm_fetch fetch = {.work = &work, .report = &report};
    bool all;

    if (read_work(work_fd, &work) < 0)
        return NM_WORKER_NO_WORK;
    limit_self(&work.limits);
    all = do_removals(&report, work.removals);
    all = do_checks(&report, work.checks) && all;
    if (work.n_resources == 0)
        return all ? NM_WORKER_DONE : NM_WORKER_SOME_FAILED;
    if (nm_http_new("nm-localizer/" NM_VERSION, &http) < 0)
        return NM_WORKER_NO_WORK;
    fetch.http = http;
    fetch.hdfs = (struct nm_hdfs){.http = http, .name_nodes = work.name_nodes, .user = work.user, .https = work.https,
                                  .ca_file = work.ca_file, .idle_usec = work.limits.idle_usec};
    return do_resources(&fetch) && all ? NM_WORKER_DONE : NM_WORKER_SOME_FAILED;
}
