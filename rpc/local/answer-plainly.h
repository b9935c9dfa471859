/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Write an answer without libmicrohttpd, because libmicrohttpd has no connection for this client or hasn't received a
 * complete request. Bytes that the socket doesn't accept at once are dropped, because the event loop must not block. */

/* Writes an error answer. The strings are inserted into JSON without escaping. */
void nm_answer_plainly(int fd, const char *status, const char *code, const char *thing, const char *message);

/* Writes an answer with status 503. */
void nm_answer_busy(int fd);
