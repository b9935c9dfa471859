/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Checks whether containers can use the file of certificates that is configured for WebHDFS. nmd itself can't load
 * certificates. So nm-localizer, which uses the file when it fetches, loads the file for the check. It does so as a
 * user without privileges. The check blocks for some seconds at most. It must be called before the event loop runs.
 * Returns NULL if the file is usable or the check failed. Otherwise returns the reason, which the caller frees. */
char *nm_yarn_certificates_problem(const char *localizer_program, const char *path);
