/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Warnings about users, files and programs that are configured but don't exist. nmd starts nevertheless, since they may
 * be created later, but the operator needs to know before a job fails.
 */

#include <sys/types.h>

#include "yarn/conf/properties.h"

/* Calls `tell`, which may be NULL, with a sentence for each warning. nmd_uid: the user that nmd runs as. Blocks while
 * localizer_program loads the certificates (certificates.c). */
void nm_yarn_doubts_tell(const struct nm_yarn_settings *s, uid_t nmd_uid, const char *localizer_program,
                         void (*tell)(int level, const char *sentence));

/* Checks whether containers can use the file of certificates that is configured for WebHDFS. nm-localizer fetches with
 * this file, so nm-localizer loads the file for the check, as a user without privileges. nmd itself can't load
 * certificates. The check blocks for some seconds at most and is meant for the start, before the event loop runs.
 * Returns NULL if the file is usable or the check failed. Otherwise returns the reason, which the caller frees. */
char *nm_yarn_certificates_doubt(const char *localizer_program, const char *path);
