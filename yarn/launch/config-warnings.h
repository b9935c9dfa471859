/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Warnings about users, files and programs that are configured but don't exist, and about a configuration of lending
 * that lends nothing. nmd starts nevertheless, since the files may be created later. The warnings inform the operator
 * before a job fails.
 */

#include <sys/types.h>

#include "yarn/conf/properties.h"

/* ---- certificates.c -------------------------------------------------------------------------- */

/* Checks whether containers can use the file of certificates that is configured for WebHDFS. nmd itself can't load
 * certificates. So nm-localizer, which uses the file when it fetches, loads the file for the check. It does so as a
 * user without privileges. The check blocks for some seconds at most. It must be called before the event loop runs.
 * Returns NULL if the file is usable or the check failed. Otherwise returns the reason, which the caller frees. */
char *nm_yarn_certificates_problem(const char *localizer_program, const char *path);

/* ---- config-warnings.c ----------------------------------------------------------------------- */

/* Calls report_cb with a sentence for each warning. report_cb may be NULL. nmd_uid: the user that nmd runs as. Blocks
 * while the program localizer_program loads the certificates (certificates.c). */
void nm_yarn_config_warnings_report(const struct nm_yarn_settings *s, uid_t nmd_uid, const char *localizer_program,
                                    void (*report_cb)(int level, const char *sentence));
