/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The lines that nm-localizer and nm-log-uploader write for nmd: one JSON object each. nmd reads the lines of both
 * programs with worker-process.c. */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "localize/worker-protocol.h"

/* Size of a text in a line. The limit leaves room for the backslashes that JSON adds before quotes. */
#define NM_REPORT_TEXT_BYTES (NM_WORKER_REPORT_LINE_MAX_BYTES / 2 - 64)

/* Writes the object as a line, and drops the reference. NULL or a line that is too long is left out. Ignores a closed
 * pipe: the work continues, because its result can be used without the report. */
void nm_report_line_write(int fd, json_t *json);
/* Returns whether progress is to be reported now. Updates *last_usec, the time of the last report, if so. */
bool nm_report_line_is_due(uint64_t *last_usec);
/* Copies a text that is shown on terminals and may quote a server or a file's name: shortens it, and replaces
 * characters other than printable ASCII by '?'. Returns the buffer. */
const char *nm_report_line_text(const char *text, char buf[static NM_REPORT_TEXT_BYTES]);
