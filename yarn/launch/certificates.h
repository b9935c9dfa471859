/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Checks whether containers can use the file of certificates that is configured for WebHDFS. nm-localizer fetches with
 * this file, so nm-localizer loads the file for the check, as a user without privileges. nmd itself can't load
 * certificates. The check blocks for some seconds at most and is meant for the start, before the event loop runs. */

/* Returns NULL if the file is usable or the check failed. Otherwise returns the reason, which the caller frees. */
char *nm_yarn_certificates_doubt(const char *localizer_program, const char *path);
