/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The methods of manage.h that name existing containers. userdata: struct nm_yarn_manage. */

#include "yarn/cm-protocol/manage-call.h"

void nm_manage_stop(struct nm_hadoop_call *call, void *userdata);
void nm_manage_statuses(struct nm_hadoop_call *call, void *userdata);
void nm_manage_localizations(struct nm_hadoop_call *call, void *userdata);

/* These methods name one container. A refusal ends the whole call. */
void nm_manage_signal(struct nm_hadoop_call *call, void *userdata);
void nm_manage_localize(struct nm_hadoop_call *call, void *userdata);
void nm_manage_reinitialize(struct nm_hadoop_call *call, void *userdata);
void nm_manage_restart(struct nm_hadoop_call *call, void *userdata);
void nm_manage_roll_back(struct nm_hadoop_call *call, void *userdata);
void nm_manage_commit(struct nm_hadoop_call *call, void *userdata);
