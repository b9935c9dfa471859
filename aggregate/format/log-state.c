/* SPDX-License-Identifier: Apache-2.0 */

/* See log-state.h. */

#include "aggregate/format/log-state.h"

#include "util/error.h"

int nm_log_state_write(struct nm_log_writer *w, const void *data, size_t n, char **ret_message)
{
    int r = n > 0 ? w->sink.write(w->sink.userdata, data, n, ret_message) : 0;

    if (r == 0)
        w->offset_bytes += n;
    return r;
}

int nm_log_state_flush(struct nm_log_writer *w, char **ret_message)
{
    int r = w->head.error;

    if (r == 0)
        r = nm_log_state_write(w, w->head.data, w->head.size, ret_message);
    w->head.size = 0;
    return r;
}
