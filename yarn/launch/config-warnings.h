/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Warnings about users, files and programs that are configured but don't exist. nmd starts nevertheless, since they may
 * be created later. The warnings inform the operator before a job fails.
 */

#include <sys/types.h>

#include "yarn/conf/properties.h"

/* Calls report_cb with a sentence for each warning. report_cb may be NULL. nmd_uid: the user that nmd runs as. Blocks
 * while the program localizer_program loads the certificates (certificates.c). */
void nm_yarn_config_warnings_report(const struct nm_yarn_settings *s, uid_t nmd_uid, const char *localizer_program,
                                    void (*report_cb)(int level, const char *sentence));
