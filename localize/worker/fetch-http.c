/* SPDX-License-Identifier: Apache-2.0 */

/* Fetches http: and https: from any server. */

#include "localize/worker/fetch-schemes.h"
#include "util/error.h"

/* Reports a refusal. Some statuses are temporary: too many requests, and errors of a server or a proxy. */
static int refused(long status, char **ret_message)
{
    bool may_pass = status == 408 || status == 429 || status >= 500;

    return nm_fail(ret_message, may_pass ? -EIO : status == 404 ? -ENOENT : -EREMOTEIO, "HTTP %ld%s", status,
                   status == 404                    ? ": no such file"
                   : status == 401 || status == 403 ? ": the server doesn't permit anonymous access"
                                                    : "");
}

int nm_fetch_http(struct nm_fetch *f, const struct nm_resource *res, int fd, char **ret_message)
{
    const struct nm_http_request request = {
        .url = res->uri,
        .most_bytes = f->work->limits.fetch_bytes,
        .deadline_usec = f->deadline_usec,
        .idle_usec = f->work->limits.idle_usec,
        .fd = fd,
        .progress = nm_fetch_progress,
        .userdata = f,
    };
    struct nm_http_answer answer;
    int r = nm_http_get(f->http, &request, &answer, ret_message);

    if (r < 0)
        return r;
    if (answer.status != 200)
        return refused(answer.status, ret_message);
    /* Hadoop's own HTTP client reports a time of 0 for each file, so most jobs submit 0. */
    return res->timestamp_msec == 0 ? 0 : nm_fetch_check_time(res, answer.modified_msec, ret_message);
}
