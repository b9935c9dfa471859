/* SPDX-License-Identifier: Apache-2.0 */

/* See local-state.h. */

#include "rpc/local/local-state.h"

#include <assert.h>

#include "util/clock.h"

/* Returns the struct that the server attached to the socket. All requests on a connection share it. */
struct nm_connection *nm_local_connection(struct MHD_Connection *c)
{
    struct nm_connection *con =
        MHD_get_connection_info(c, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;

    assert(con && con->host && con->account);
    return con;
}

bool nm_local_state_has_time(const struct nm_local_state *h, const struct nm_quota_account *a)
{
    uint64_t now = nm_now_usec();

    return h->stopping ||
           (now - h->run_started_usec < NM_HOST_RUN_USEC && nm_quota_account_is_free(a, now));
}

void nm_local_state_schedule_turns(struct nm_local_state *h)
{
    uint64_t due = nm_quota_due_usec(h->quota), now = nm_now_usec();

    assert(h->turns);
    if (due == UINT64_MAX)
        return;
    (void)sd_event_source_set_time_relative(h->turns, nm_sub_u64(due, now));
    (void)sd_event_source_set_enabled(h->turns, SD_EVENT_ONESHOT);
}
