/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Whether a file of certificates can be used as work.h's ca_file. The library that fetches loads it here as it does for
 * a fetch: what it takes differs from library to library, and one damaged certificate may cost all others. */

/* 0, also where it couldn't be tried; or -errno, and words (freed by the caller) that continue "FILE: ". */
int nm_ca_check(const char *file, char **ret_message);
