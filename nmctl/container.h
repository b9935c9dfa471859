/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Pieces of a container's JSON in words, for the verbs that show containers. */

#include <jansson.h>

#include "nmctl/term.h"

/* Its command as a shell would take it (of one from a list: how that begins); the caller's to free.
 * Ends the program when memory runs out. */
char *nm_container_command(const json_t *c);
/* How long it has run, or has been waiting; for an ended one how long it ran. The buffer is
 * returned. */
const char *nm_container_age(const json_t *c, char *buf, size_t size);
/* Returns nmctl's name of a state (JSON's "state"): QUEUED for SCHEDULED, ENDED for COMPLETED, else the same. */
const char *nm_container_state_word(const char *state);
/* Returns the state of a container as lists show it: "QUEUED", "RUNNING", or how it has ended: "Succeeded", "Failed
 * (3)", "Killed (preempted)". nmd sends this text; for an older nmd that doesn't, it is made in buf. Borrowed from c or
 * buf. */
const char *nm_container_shown_state(const json_t *c, char *buf, size_t size);
/* "guaranteed", "opportunistic" */
const char *nm_container_type_word(const json_t *c);
enum nm_style nm_container_state_style(const json_t *c);
/* "was stopped through systemd: ...", "exited with status 0"; "" of one that has not ended. The buffer is returned. */
const char *nm_container_end(const json_t *c, char *buf, size_t size);
/* What its end means as an exit status, shells' way: 128 + N after signal N, 126 and 127 for a command that can't be
 * run, NM_CTL_NOT_RUN for what never began. */
int nm_container_exit_status(const json_t *c);
/* "container_1_000002 (name)" */
const char *nm_container_title(const json_t *c, char *buf, size_t size);
