/* SPDX-License-Identifier: Apache-2.0 */

/* Carries out the due step. If necessary, first resolves names and connects to the ResourceManager. */

#include "yarn/yarn-state.h"

#include <errno.h>
#include <netdb.h>

#define PROTOCOL "org.apache.hadoop.yarn.server.api.ResourceTrackerPB"
#define USER "yarn" /* the user name of daemons in a cluster without Kerberos */

static void on_closed(void *userdata, int error, const struct nm_exception *why)
{
    struct nm_yarn *y = userdata;

    (void)error, (void)why; /* a waiting request has failed already; the next request connects again */
    y->client = nm_hadoop_client_free(y->client);
}

static int connect_to(struct nm_yarn *y, const struct nm_resolved *rm)
{
    unsigned i = y->attempts++ % rm->n;
    struct nm_hadoop_client_options o = {
        .address = (const struct sockaddr *)&rm->addresses[i], .address_size = rm->sizes[i], .protocol = PROTOCOL,
        .version = 1, .user = USER, .client_id = y->client_id, .closed = on_closed, .userdata = y,
        .connect_usec = y->settings->connect_usec};

    return nm_hadoop_client_new(y->event, &o, &y->client);
}

static void fail_to_resolve(struct nm_yarn *y, const char *host, int error)
{
    struct nm_exception why;

    nm_exception_set(&why, 0, "name services", "%s: %s", host, gai_strerror(error));
    nm_yarn_step_failed(y, -EHOSTUNREACH, &why);
}

static void on_rm_resolved(const struct nm_resolved *rm, void *userdata)
{
    struct nm_yarn *y = userdata;
    int r;

    y->resolve = nm_resolve_free(y->resolve);
    if (y->on_unregistered)
        return;
    if (rm->error != 0 || rm->n == 0) {
        fail_to_resolve(y, nm_yarn_tracker(y)->host, rm->error ?: EAI_NONAME);
        return;
    }
    r = connect_to(y, rm);
    if (r < 0)
        nm_yarn_step_failed(y, r, NULL);
    else
        nm_yarn_request_due(y);
}

/* Resolves the ResourceManager's name before each connection attempt, since a ResourceManager that doesn't answer may
 * have moved to another address. */
static void find_rm(struct nm_yarn *y)
{
    const struct nm_yarn_address *rm = nm_yarn_tracker(y);
    int r = nm_resolve_new(y->event, rm->host, rm->port, on_rm_resolved, y, &y->resolve);

    if (r < 0)
        nm_yarn_step_failed(y, r, NULL);
}

void nm_yarn_connect_report_name(struct nm_yarn *y)
{
    nm_yarn_node_set_address(y->services->node, y->host, y->id.port, y->web_port);
    nm_yarn_cm_server_set_node(y->services->cm_server, y->host, y->id.port);
}

/* Stores the node's name. If the name services don't know this host, the host's own hostname is used. */
static void on_own_name(const struct nm_resolved *own, void *userdata)
{
    struct nm_yarn *y = userdata;

    y->resolve = nm_resolve_free(y->resolve);
    (void)snprintf(y->host, sizeof y->host, "%s", *own->name ? own->name : "localhost");
    nm_yarn_connect_report_name(y);
    if (!y->on_unregistered)
        find_rm(y);
}

int nm_yarn_connect_on_due(sd_event_source *source, uint64_t usec, void *userdata)
{
    struct nm_yarn *y = userdata;
    uint64_t wait_usec = nm_yarn_step_wait_usec(y);
    int r = 0;

    (void)source, (void)usec;
    if (wait_usec > 0) {
        nm_yarn_step_delay(y, wait_usec);
        return 0;
    }
    y->labels_since_usec = 0;
    y->due_usec = 0;
    y->tracker += y->leaves_rm;
    y->leaves_rm = false;
    if (y->step.reconnect)
        y->client = nm_hadoop_client_free(y->client);
    if (y->client)
        nm_yarn_request_due(y);
    else if (*y->host)
        find_rm(y);
    else
        r = nm_resolve_new(y->event, NULL, 0, on_own_name, y, &y->resolve);
    if (r < 0)
        nm_yarn_step_failed(y, r, NULL);
    return 0;
}
