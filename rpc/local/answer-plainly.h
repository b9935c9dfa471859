/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Answers without the library, which has no place for this client or no whole request of it. What the socket doesn't
 * take at once is lost: nobody waits here. */

/* An error's answer. The words stand in JSON as they are. */
void nm_answer_plainly(int fd, const char *status, const char *code, const char *thing, const char *message);

/* 503, and the end of it. */
void nm_answer_busy(int fd);
