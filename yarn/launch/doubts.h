/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Warnings about users, files and programs that are configured but don't exist. nmd starts nevertheless, since they may
 * be created later, but the operator needs to know before a job fails.
 */

#include <sys/types.h>

#include "yarn/conf/properties.h"

/* Calls `tell`, which may be NULL, with a sentence for each warning. nmd_uid: the user that nmd runs as. Blocks while
 * localizer_program loads the certificates (certificates.h). */
void nm_yarn_doubts_tell(const struct nm_yarn_settings *s, uid_t nmd_uid, const char *localizer_program,
                         void (*tell)(int level, const char *sentence));
