/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Calls to nmd that print their errors, and the wait for an nmd that is unreachable. Functions that return int return
 * an exit status (NM_CTL_*) and have printed the error, if an error occurred. */

#include <jansson.h>

#include "nmctl/nmctl.h"
#include "rpc/local/client/client.h"

#define NM_API_TIMEOUT_USEC (30 * NM_USEC_PER_SEC)

static inline void nm_json_freep(json_t **j)
{
    json_decref(*j);
}
#define _cleanup_json_ _cleanup_(nm_json_freep)

/* Makes one call. `body` may be NULL; its reference is taken over in all cases. *ret is the answer's JSON, a reference
 * that the caller owns. */
int nm_api_call(struct nm_ctl *ctl, const char *method, const char *target, json_t *body,
                json_t **ret);
int nm_api_get(struct nm_ctl *ctl, const char *target, json_t **ret);
/* Gets the target as nm_api_get() does, but waits at most until deadline_usec (CLOCK_BOOTTIME). After the deadline
 * returns NM_CTL_TIMED_OUT without a message. */
int nm_api_get_by(struct nm_ctl *ctl, const char *target, uint64_t deadline_usec, json_t **ret);

/* Gets the target as nm_api_get() does, but prints no errors. Returns 0, -errno of the connection, or -EREMOTEIO if nmd
 * refused the request. */
int nm_api_try_get(struct nm_ctl *ctl, const char *target, uint64_t timeout_usec, json_t **ret);

/* Gets the list of containers. nmd sends the list in parts, which are joined into one array. */
int nm_api_get_containers(struct nm_ctl *ctl, bool all, json_t **ret);
/* Gets the list as nm_api_get_containers() does, but prints no errors, and gets only a limited number of parts. */
int nm_api_try_get_containers(struct nm_ctl *ctl, bool all, uint64_t timeout_usec, json_t **ret);

/* Prints why nmd can't be reached. r: an error of rpc/local/client/client.h. Returns NM_CTL_UNREACHABLE. */
int nm_api_report_unreachable(const struct nm_ctl *ctl, int r);
/* Prints the message of nmd's error answer. Returns NM_CTL_FAILED. */
int nm_api_report_refused(const struct nm_ctl *ctl, const struct nm_client_answer *a);
/* Parses the answer's JSON. Prints an error if it is invalid. */
int nm_api_parse(const struct nm_ctl *ctl, const struct nm_client_answer *a, json_t **ret);

/* Writes "/v1/containers/<id>[/action]" into buf. Prints an error if the id is invalid. */
int nm_api_container_target(const char *id, const char *action, char *buf, size_t size);

/* Prints JSON, indented or on one line. */
void nm_api_print_json(const json_t *j, bool one_line);

/* ---- a lost connection ----------------------------------------------------------------------- */

/* Waits until nmd can be reached again: an upgrade restarts nmd while containers keep running. Every verb that follows
 * a stream or a container uses this code, so that messages and time limits are the same. */

struct nm_reconnect {
    uint64_t since_usec; /* CLOCK_BOOTTIME at which the connection was lost; 0: nmctl is connected */
    uint64_t retry_usec; /* time of the next attempt */
    uint64_t reported_usec; /* time of the last message */
};

/* Returns whether r (from rpc/local/client/client.h) is an error that occurs while nmd ends or starts. */
bool nm_reconnect_is_loss(int r);
/* Records that nmd can't be reached, with the error r. The first call prints a message that contains `unaffected`
 * ("web is not affected", or ""). Later calls update the message on a terminal. Returns NM_CTL_OK, or after one minute
 * NM_CTL_UNREACHABLE and prints an error message. */
int nm_reconnect_wait(struct nm_reconnect *a, const struct nm_ctl *ctl, int r, const char *unaffected);
/* Prints that nmd is reachable again. */
void nm_reconnect_done(struct nm_reconnect *a);
