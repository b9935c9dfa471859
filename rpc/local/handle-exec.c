/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Runs another command in a container. The input and output of the command don't pass through HTTP. When the request is
 * valid and the shim's process is ready, nmd answers 101. The shim's process has inherited the connection and uses it
 * from then on. The client is therefore identified, counted and refused as for any other request, no second socket
 * needs protection, and the event loop handles no byte of a session.
 */

#include "rpc/local/handlers.h"

#include <assert.h>
#include <strings.h>
#include <sys/socket.h>

#include "rpc/local/connections.h"
#include "rpc/local/messages.h"
#include "util/frame.h"

/* libmicrohttpd calls this function when the answer has been sent. If the client sent input before it received the
 * answer, libmicrohttpd has read this input. The input would be lost, so the session is ended. nmd closes its
 * descriptor of the connection; the session's process keeps its own descriptor. */
static void on_upgraded(void *userdata, struct MHD_Connection *connection, void *request, const char *extra,
                        size_t n_extra, MHD_socket fd, struct MHD_UpgradeResponseHandle *handle)
{
    struct nm_call *call = userdata;

    (void)connection, (void)request, (void)extra, (void)fd;
    if (n_extra == 0)
        nm_manager_exec_begin(call->manager, call->session);
    else
        nm_manager_exec_drop(call->manager, call->session);
    call->session = 0;
    (void)MHD_upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
    call->host->handed_over = true;
}

/* ---- input of a container ---------------------------------------------------------------------- */

static void on_input(void *userdata, struct MHD_Connection *connection, void *request, const char *extra,
                     size_t n_extra, MHD_socket fd, struct MHD_UpgradeResponseHandle *handle)
{
    struct nm_call *call = userdata;

    (void)connection, (void)request, (void)extra;
    if (n_extra > 0) /* the input that libmicrohttpd has read would be lost */
        (void)shutdown(fd, SHUT_RDWR);
    (void)MHD_upgrade_action(handle, MHD_UPGRADE_ACTION_CLOSE);
    call->host->handed_over = true;
}

bool nm_exec_wants_upgrade(struct nm_call *call)
{
    const char *upgrade = MHD_lookup_connection_value(call->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_UPGRADE);

    return upgrade && strcasecmp(upgrade, NM_FRAME_PROTOCOL) == 0;
}

int nm_exec_answer_input(struct nm_call *call)
{
    return nm_call_answer_upgrade(call, NM_FRAME_PROTOCOL, on_input);
}

/* ---- another command --------------------------------------------------------------------------- */

/* Checks the header Upgrade. The error names the required headers to a user who may see the container. */
static int check_upgrade(struct nm_call *call)
{
    const char *upgrade = MHD_lookup_connection_value(call->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_UPGRADE);
    const struct nm_container *c;
    int r = nm_manager_find(call->manager, &call->caller, call->id, &c, &call->problem);

    if (r != 0 || (upgrade && strcasecmp(upgrade, NM_FRAME_PROTOCOL) == 0))
        return r;
    call->early_status = MHD_HTTP_UPGRADE_REQUIRED;
    return nm_messages_problem(&call->problem, NM_AGENT_E_INVALID, "Upgrade", upgrade ? upgrade : "",
                               "This request needs a connection that is switched to the command's input and output: "
                               "send the headers 'Connection: Upgrade' and 'Upgrade: " NM_FRAME_PROTOCOL "', as nmctl "
                               "does.");
}

int nm_handle_exec(struct nm_call *call)
{
    struct nm_messages_exec e;
    int r = check_upgrade(call);

    if (r == 0)
        r = nm_messages_parse_exec(call->body, &e, &call->problem);
    if (r != 0)
        return r;
    assert(call->session == 0);
    r = nm_manager_exec(call->manager, &call->caller, call->id, &e.exec, nm_connection_of(call->connection)->fd,
                        &call->session, &call->problem);
    nm_messages_exec_done(&e);
    return r != 0 ? r : nm_call_answer_upgrade(call, NM_FRAME_PROTOCOL, on_upgraded);
}
