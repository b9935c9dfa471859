/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The methods of cm-server.h that name existing containers. userdata: struct nm_yarn_cm_server. */

#include "yarn/cm-protocol/cm-call.h"

void nm_cm_stop(struct nm_hadoop_call *call, void *userdata);
void nm_cm_statuses(struct nm_hadoop_call *call, void *userdata);
void nm_cm_localizations(struct nm_hadoop_call *call, void *userdata);

/* These methods name one container. A refusal ends the whole call. */
void nm_cm_signal(struct nm_hadoop_call *call, void *userdata);
void nm_cm_localize(struct nm_hadoop_call *call, void *userdata);
void nm_cm_reinitialize(struct nm_hadoop_call *call, void *userdata);
void nm_cm_restart(struct nm_hadoop_call *call, void *userdata);
void nm_cm_roll_back(struct nm_hadoop_call *call, void *userdata);
void nm_cm_commit(struct nm_hadoop_call *call, void *userdata);
