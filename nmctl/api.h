/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Calls to nmd with their failures put into words. Functions that return int return an exit status
 * (NM_CTL_*) after having said what is wrong. */

#include <jansson.h>

#include "nmctl/nmctl.h"
#include "rpc/local/client/client.h"

#define NM_API_TIMEOUT_USEC (30 * NM_USEC_PER_SEC)

static inline void nm_json_freep(json_t **j)
{
    json_decref(*j);
}
#define _cleanup_json_ _cleanup_(nm_json_freep)

/* One call. `body` (may be NULL) is released in any case. *ret: the answer's JSON, the caller's
 * reference. */
int nm_api_call(struct nm_ctl *ctl, const char *method, const char *target, json_t *body,
                json_t **ret);
int nm_api_get(struct nm_ctl *ctl, const char *target, json_t **ret);
/* The same with a deadline (CLOCK_BOOTTIME), if that comes first. Returns NM_CTL_TIMED_OUT then, without a word. */
int nm_api_get_by(struct nm_ctl *ctl, const char *target, uint64_t deadline_usec, json_t **ret);

/* The same without words, for what may fail: 0, -errno of the connection, or -EREMOTEIO when nmd
 * refused. */
int nm_api_try_get(struct nm_ctl *ctl, const char *target, uint64_t timeout_usec, json_t **ret);

/* The list of containers, all parts of it as one array. */
int nm_api_get_containers(struct nm_ctl *ctl, bool all, json_t **ret);
/* The same without words; no more than some. */
int nm_api_try_get_containers(struct nm_ctl *ctl, bool all, uint64_t timeout_usec, json_t **ret);

/* Says why nmd can't be reached (r: from rpc/local/client/client.h). Returns NM_CTL_UNREACHABLE. */
int nm_api_say_unreachable(const struct nm_ctl *ctl, int r);
/* Says what nmd says in the answer of an error status. Returns NM_CTL_FAILED. */
int nm_api_say_refused(const struct nm_ctl *ctl, const struct nm_client_answer *a);
/* The answer's JSON. Says so if it is none. */
int nm_api_parse(const struct nm_ctl *ctl, const struct nm_client_answer *a, json_t **ret);

/* "/v1/containers/<id>[/action]" into buf; says what is wrong with an id that can't be one. */
int nm_api_container_target(const char *id, const char *action, char *buf, size_t size);

/* JSON for scripts and people: indented, or on one line. */
void nm_api_print_json(const json_t *j, bool one_line);
