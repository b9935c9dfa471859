/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Logging, one line per event. If systemd started the process, lines go to the journal with fields, else to stderr.
 * Only agent/ and nmd/ log above debug level: other functions return errors, and the caller logs each of them once.
 */

#include <stdbool.h>
#include <stdint.h>
#include <syslog.h>

#include "util/macros.h"

enum nm_log_target {
    NM_LOG_AUTO, /* journal if stderr is connected to the journal ($JOURNAL_STREAM), else stderr */
    NM_LOG_STDERR,
    NM_LOG_JOURNAL,
};

/* Sets the destination of log lines. Call it once before the first line. */
void nm_log_init(enum nm_log_target target);

/* Sets the highest syslog level (LOG_ERR .. LOG_DEBUG) that is logged. Default: LOG_INFO. */
void nm_log_set_level(int level);
int nm_log_level(void);
/* Returns the number of lines of this syslog level that were logged. */
uint64_t nm_log_count(int level);

/* Parses "err", "warning", "notice", "info" or "debug". Returns 0, or -EINVAL. */
int nm_log_level_from_string(const char *s, int *ret_level);

void nm_log(int level, const char *format, ...) nm_printf(2, 3);

/* Logs a line about one container (NULL: the node) and optionally one decision. The journal entry has the fields
 * NM_CONTAINER=, NM_DECISION= and MESSAGE_ID= (NULL, or a 32-digit id from packaging's catalog) besides the text. */
void nm_log_container(int level, const char *container_id, const char *decision,
                      const char *message_id, const char *format, ...) nm_printf(5, 6);

#define nm_debug(...) nm_log(LOG_DEBUG, __VA_ARGS__)
#define nm_info(...) nm_log(LOG_INFO, __VA_ARGS__)
#define nm_notice(...) nm_log(LOG_NOTICE, __VA_ARGS__)
#define nm_warning(...) nm_log(LOG_WARNING, __VA_ARGS__)
#define nm_err(...) nm_log(LOG_ERR, __VA_ARGS__)
