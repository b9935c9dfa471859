/* SPDX-License-Identifier: Apache-2.0 */

/* See fetch-schemes.h: what the ways to a resource's bytes have in common. */

#include <inttypes.h>

#include "localize/fetch-schemes.h"
#include "util/error.h"

/* To the millisecond and in both directions, as Hadoop does it: an older file is as wrong as a newer one. */
int nm_fetch_check_time(const struct nm_resource *res, uint64_t modified_msec, char **ret_message)
{
    if (modified_msec == res->timestamp_msec)
        return 0;
    return nm_fail(ret_message, -ESTALE,
                   "it was changed after the job was submitted: its time is %" PRIu64 " and not %" PRIu64
                   " (milliseconds since 1970); submit the job again, with the file as it is now",
                   modified_msec, res->timestamp_msec);
}

void nm_fetch_progress(void *userdata, uint64_t bytes, uint64_t total_bytes)
{
    struct nm_fetch *f = userdata;

    nm_report_progress(f->report, "fetching", bytes, total_bytes);
}
