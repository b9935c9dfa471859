/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Whether containers can use the file of certificates that is configured for WebHDFS. nm-localizer, which fetches with
 * it, loads it as a user without rights of its own, for nmd links no library that could. Waits for that, some seconds
 * at most: for the start, before there is a loop. */

/* NULL: nothing speaks against it, or it couldn't be found out. Else why, for the caller to free. */
char *nm_yarn_certificates_doubt(const char *localizer_program, const char *path);
