/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The table of routes and its handlers. See call.h for the return values of handlers. */

#include "rpc/local/call.h"

extern const struct nm_route nm_routes[];
extern const size_t nm_n_routes;

/* handle-containers.c */
int nm_handle_list(struct nm_call *call);
int nm_handle_submit(struct nm_call *call);
int nm_handle_show(struct nm_call *call);
int nm_handle_wait(struct nm_call *call);
int nm_handle_update(struct nm_call *call);
int nm_handle_pause(struct nm_call *call);
int nm_handle_resume(struct nm_call *call);
int nm_handle_promote(struct nm_call *call);
int nm_handle_demote(struct nm_call *call);
int nm_handle_kill(struct nm_call *call);
int nm_handle_remove(struct nm_call *call);
int nm_handle_decisions(struct nm_call *call);
int nm_handle_applications(struct nm_call *call);

/* Answers with the current state of the container. `id` is an id from the manager, not a name. */
int nm_handle_answer_container(struct nm_call *call, unsigned status, const char *id);

/* handle-exec.c */
int nm_handle_exec(struct nm_call *call);
/* Returns whether the client asks to switch the connection to a session. */
bool nm_exec_wants_upgrade(struct nm_call *call);
/* Answers that the connection is switched and now carries a container's standard input. The process that reads the
 * input has a copy of the descriptor. */
int nm_exec_answer_input(struct nm_call *call);

/* stream-logs.c, stream-events.c, stream-history.c: answers that are sent over a longer time */
int nm_handle_logs(struct nm_call *call);
int nm_handle_events(struct nm_call *call);
int nm_handle_history(struct nm_call *call);
/* stream-page.c: a page of the upstream, which may have a part of a file */
int nm_handle_upstream_page(struct nm_call *call);

/* handle-node.c */
int nm_handle_status(struct nm_call *call);
int nm_handle_upstream(struct nm_call *call);
int nm_handle_config(struct nm_call *call);
int nm_handle_drain(struct nm_call *call);
int nm_handle_undrain(struct nm_call *call);
int nm_handle_close_breaker(struct nm_call *call);
int nm_handle_reload(struct nm_call *call);
int nm_handle_version(struct nm_call *call);
int nm_handle_openapi(struct nm_call *call);
int nm_handle_healthz(struct nm_call *call);
int nm_handle_metrics(struct nm_call *call);
int nm_handle_page(struct nm_call *call);
