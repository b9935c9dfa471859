/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Logging. One line per happening, to the journal when started by systemd (with fields), else to
 * stderr. Only agent/ logs above debug: library folders return what went wrong and let the caller
 * say it, once.
 */

#include <stdbool.h>
#include <syslog.h>

#include "util/macros.h"

enum nm_log_target {
    NM_LOG_AUTO, /* journal if stderr is connected to it ($JOURNAL_STREAM), else stderr */
    NM_LOG_STDERR,
    NM_LOG_JOURNAL,
};

/* Chooses where lines go. Call once, before the first line. */
void nm_log_init(enum nm_log_target target);

/* Lines less important than this syslog level (LOG_ERR .. LOG_DEBUG) are dropped. Default LOG_INFO.
 */
void nm_log_set_level(int level);
int nm_log_level(void);

/* Parses "err", "warning", "notice", "info" or "debug". Returns 0, or -EINVAL. */
int nm_log_level_from_string(const char *s, int *ret_level);

void nm_log(int level, const char *format, ...) nm_printf(2, 3);

/* A structured line about one container (NULL: the node) and, unless NULL, one decision: the
 * journal gets NM_CONTAINER=, NM_DECISION= and MESSAGE_ID= (a 32-digit id from packaging's catalog,
 * or NULL) beside the text. */
void nm_log_container(int level, const char *container_id, const char *decision,
                      const char *message_id, const char *format, ...) nm_printf(5, 6);

#define nm_debug(...) nm_log(LOG_DEBUG, __VA_ARGS__)
#define nm_info(...) nm_log(LOG_INFO, __VA_ARGS__)
#define nm_notice(...) nm_log(LOG_NOTICE, __VA_ARGS__)
#define nm_warning(...) nm_log(LOG_WARNING, __VA_ARGS__)
#define nm_err(...) nm_log(LOG_ERR, __VA_ARGS__)
