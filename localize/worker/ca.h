/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Checks whether a file of certificates can be used as work.h's ca_file. The library that fetches loads the file as
 * it does for a fetch, because libraries accept different files, and one damaged certificate may make all others
 * unusable. */

/* Returns 0 if the file can be used. Otherwise -errno, and a text (freed by the caller) that continues "FILE: ".
 * -ENOTCONN: the file could not be checked. */
int nm_ca_check(const char *file, char **ret_message);
