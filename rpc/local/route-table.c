/* SPDX-License-Identifier: Apache-2.0 */

/* The table of all routes with their rights and handlers. openapi.json describes the same routes; a test compares
 * them. */

#include "rpc/local/handlers.h"

#define CONTAINER "/v1/containers/{id}"
#define NODE "/ws/v1/node" /* path as in the interface of Hadoop's NodeManager */
/* The logs of YARN's containers. The upstream decides who may read them, and whether they are available over TCP. */
#define LOGS (NM_ROUTE_TCP | NM_ROUTE_UPSTREAM)
#define PAGE (NM_ROUTE_TCP | NM_ROUTE_UPSTREAM) /* the other pages of Hadoop's NodeManager */
#define LOG_FILE "size format user.name redirected_from_node"

/* TCP: the route is available to every client that can reach the TCP address. It is therefore read-only and without
 * private data. ADMIN: only administrators may use the route. Without ADMIN, the manager checks access to each
 * container. The fourth column lists the query parameters. */
const struct nm_route nm_routes[] = {
    {"GET", "/", NM_ROUTE_TCP, "", nm_handle_page},
    {"GET", "/healthz", NM_ROUTE_TCP, "", nm_handle_healthz},
    {"GET", "/metrics", NM_ROUTE_TCP, "", nm_handle_metrics},
    {"GET", "/v1/version", NM_ROUTE_TCP, "", nm_handle_version},
    {"GET", "/v1/openapi.json", NM_ROUTE_TCP, "", nm_handle_openapi},
    {"GET", "/v1/status", NM_ROUTE_TCP, "", nm_handle_status},
    {"GET", "/v1/history", NM_ROUTE_TCP, "span_usec", nm_handle_history},
    {"GET", "/v1/applications", NM_ROUTE_TCP, "", nm_handle_applications},
    {"GET", "/v1/config", 0, "", nm_handle_config},
    {"GET", "/v1/placements/{id}", 0, "", nm_handle_upstream},
    {"GET", "/v1/lending/{id}", 0, "", nm_handle_upstream},
    {"GET", "/v1/decisions", NM_ROUTE_TCP, "limit before", nm_handle_decisions},
    {"GET", "/v1/events", NM_ROUTE_TCP, "follow after", nm_handle_events},
    {"POST", "/v1/drain", NM_ROUTE_ADMIN | NM_ROUTE_BODY, "", nm_handle_drain},
    {"POST", "/v1/undrain", NM_ROUTE_ADMIN | NM_ROUTE_BODY, "", nm_handle_undrain},
    {"POST", "/v1/close-breaker", NM_ROUTE_ADMIN | NM_ROUTE_BODY, "", nm_handle_close_breaker},
    {"POST", "/v1/reload", NM_ROUTE_ADMIN | NM_ROUTE_BODY, "", nm_handle_reload},
    {"GET", "/v1/containers", NM_ROUTE_TCP, "all limit after", nm_handle_list},
    {"POST", "/v1/containers", NM_ROUTE_BODY | NM_ROUTE_AGAIN, "", nm_handle_submit},
    {"GET", CONTAINER, 0, "", nm_handle_show},
    {"PATCH", CONTAINER, NM_ROUTE_BODY, "", nm_handle_update},
    {"DELETE", CONTAINER, NM_ROUTE_BODY, "now", nm_handle_kill},
    {"POST", CONTAINER "/pause", NM_ROUTE_BODY, "", nm_handle_pause},
    {"POST", CONTAINER "/resume", NM_ROUTE_BODY, "", nm_handle_resume},
    {"POST", CONTAINER "/promote", NM_ROUTE_BODY, "", nm_handle_promote},
    {"POST", CONTAINER "/demote", NM_ROUTE_BODY, "", nm_handle_demote},
    {"POST", CONTAINER "/kill", NM_ROUTE_BODY, "", nm_handle_kill},
    {"POST", CONTAINER "/remove", NM_ROUTE_BODY, "", nm_handle_remove},
    {"POST", CONTAINER "/exec", NM_ROUTE_BODY, "", nm_handle_exec},
    {"GET", CONTAINER "/wait", 0, "", nm_handle_wait},
    {"GET", CONTAINER "/logs", 0, "stream follow tail from since_usec timestamps", nm_handle_logs},
    {"GET", CONTAINER "/decisions", NM_ROUTE_TCP, "limit before", nm_handle_decisions},
    {"GET", NODE, NM_ROUTE_TCP | NM_ROUTE_UPSTREAM, "", nm_handle_upstream},
    {"GET", NODE "/info", NM_ROUTE_TCP | NM_ROUTE_UPSTREAM, "", nm_handle_upstream},
    {"GET", NODE "/apps", NM_ROUTE_TCP | NM_ROUTE_UPSTREAM, "state user", nm_handle_upstream},
    {"GET", NODE "/apps/{id}", NM_ROUTE_TCP | NM_ROUTE_UPSTREAM, "", nm_handle_upstream},
    {"GET", NODE "/containers", NM_ROUTE_TCP | NM_ROUTE_UPSTREAM, "", nm_handle_upstream},
    {"GET", NODE "/containers/{id}", NM_ROUTE_TCP | NM_ROUTE_UPSTREAM, "", nm_handle_upstream},
    {"GET", NODE "/resources/{id}", NM_ROUTE_TCP | NM_ROUTE_UPSTREAM, "", nm_handle_upstream},
    {"GET", NODE "/auxiliaryservices", NM_ROUTE_TCP | NM_ROUTE_UPSTREAM, "", nm_handle_upstream},
    {"GET", NODE "/containers/{id}/logs", LOGS, "user.name redirected_from_node", nm_handle_upstream_page},
    {"GET", NODE "/containers/{id}/logs/{file}", LOGS | NM_ROUTE_FILE, LOG_FILE, nm_handle_upstream_page},
    {"GET", NODE "/containerlogs/{id}/{file}", LOGS | NM_ROUTE_FILE, LOG_FILE, nm_handle_upstream_page},
    {"GET", "/node/containerlogs/{id}/{user}", LOGS, "user.name", nm_handle_upstream_page},
    {"GET", "/node/containerlogs/{id}/{user}/{file}", LOGS | NM_ROUTE_FILE, "start end user.name",
     nm_handle_upstream_page},
    {"GET", "/node", PAGE, "", nm_handle_upstream_page},
    {"GET", "/node/node", PAGE, "", nm_handle_upstream_page},
    {"GET", "/node/allApplications", PAGE, "user.name", nm_handle_upstream_page},
    {"GET", "/node/allContainers", PAGE, "user.name", nm_handle_upstream_page},
    {"GET", "/node/application/{id}", PAGE, "user.name", nm_handle_upstream_page},
    {"GET", "/node/container/{id}", PAGE, "user.name", nm_handle_upstream_page},
    {"GET", "/jmx", PAGE, "qry get", nm_handle_upstream_page},
    {"GET", "/conf", PAGE, "name format", nm_handle_upstream_page},
    {"GET", "/logLevel", PAGE, "", nm_handle_upstream_page},
    {"GET", "/stacks", PAGE, "", nm_handle_upstream_page},
};

const size_t nm_n_routes = NM_ARRAY_SIZE(nm_routes);
