/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Formats parts of a container's JSON, for the verbs that show containers. */

#include <jansson.h>
#include <stddef.h>

#include "nmctl/nmctl.h"
#include "nmctl/term.h"

/* Returns the container's command in shell syntax, which the caller frees. If the container's JSON comes from a list,
 * returns only the beginning of the command. Ends the program if memory runs out. */
char *nm_container_command(const json_t *c);
/* Returns the time that the container has been running or waiting. For an ended container, returns the time that it
 * ran. Returns buf. */
const char *nm_container_age(const json_t *c, char *buf, size_t size);
/* Returns nmctl's name of a state (JSON's "state"): QUEUED for SCHEDULED, ENDED for COMPLETED, otherwise the same
 * name. */
const char *nm_container_state_word(const char *state);
/* Returns the state of a container as lists show it: "QUEUED", "RUNNING", or how the container ended: "Succeeded",
 * "Failed (3)", "Killed (preempted)". nmd sends this text. If an older nmd doesn't send it, formats the text in buf.
 * The result belongs to c or is buf. */
const char *nm_container_display_state(const json_t *c, char *buf, size_t size);
bool nm_container_is_guaranteed(const json_t *c);
/* Returns "guaranteed" or "opportunistic". */
const char *nm_container_type_word(const json_t *c);
enum nm_style nm_container_state_style(const json_t *c);
/* Formats how the container ended: "was stopped through systemd: ...", "exited with status 0"; "" if the container
 * hasn't ended. Returns buf. */
const char *nm_container_end(const json_t *c, char *buf, size_t size);
/* Returns the exit status for a container's end, as shells do: 128 + N after signal N, 126 or 127 if the command
 * couldn't be executed, NM_CTL_NOT_RUN if the command never started. */
int nm_container_exit_status(const json_t *c);
/* Formats "container_1_000002 (name)", or the id alone if the container has no name. Returns buf. */
const char *nm_container_title(const json_t *c, char *buf, size_t size);

/* ---- verb-list.c ----------------------------------------------------------------------------- */

/* Table cells and selections that `list` and `top` share. */

/* Adds NR, ID, NAME and TYPE. A narrow terminal omits the id, because users can type the number instead. */
void nm_container_add_names(struct nm_table *t, const json_t *c);
/* Adds STATE: "RUNNING", "QUEUED #2", "LOCALIZING 1 of 3 files", "Succeeded", "Killed (preempted)" */
void nm_container_add_state(struct nm_table *t, const json_t *c);
/* Returns the command in one line; the caller frees it. nmd's list contains only the beginning of a long command. This
 * suffices for a terminal, where the command is truncated anyway. If `whole` is true, fetches the complete command. */
char *nm_container_whole_command(struct nm_ctl *ctl, const json_t *c, bool whole);
/* Removes the containers from the list that don't match --app and --state. */
void nm_container_filter(const struct nm_args *a, json_t *list);

/* ---- queue-reason.c -------------------------------------------------------------------------- */

/* Explains in a sentence with current figures why a container waits. reason: nmd's queue reason ("over-alpha"); c: the
 * container, NULL if unknown; status: answer of GET /v1/status, NULL if unavailable. If reason is "", the result is ""
 * too. */
void nm_queue_reason_text(const char *reason, const json_t *c, const json_t *status, char *buf, size_t size);
