/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The saved state of an application's books, as text. Each line is a JSON object, and each change appends a line:
 *
 *   {"user": ..., "account": ..., "context": {...}, "view_acl": ..., "modify_acl": ..., "last_msec": ...,
 *    "incomplete": true or false, "dirs": {id of a log directory: its path, ...}}
 *   {"ended": a container whose logs wait for an upload}
 *   {"upload": upload_msec, "n": number of containers that the upload covers, "final": true or false}
 *   {"finished": time at which the application ended, in microseconds}
 *   {"state": "uploaded" or "given up", "error": ...}
 *
 * An upload that is done changes the list of containers, so the text is then made anew.
 */

#include "rpc/hadoop/bytes.h"
#include "yarn/logs/log-book.h"

#define NM_YARN_LOG_STATE_MAX (16u << 20) /* size limit of a text */

/* Return the whole text, or one line with its newline, which the caller frees. NULL: no memory. */
char *nm_yarn_log_state_text(const struct nm_yarn_log_book *b);
char *nm_yarn_log_state_ended_line(const char *container);
char *nm_yarn_log_state_upload_line(const struct nm_yarn_log_book *b);
char *nm_yarn_log_state_finished_line(const struct nm_yarn_log_book *b);

/* Makes the books from a text. If a line is damaged, the books count as incomplete (is_incomplete), so that no logs
 * are removed for the reason that all are uploaded, and as unsaved. -EBADMSG: the first line or the id is invalid;
 * -ENOMEM. */
int nm_yarn_log_state_parse(const char *application, struct nm_bytes text, struct nm_yarn_log_book **ret);

/* Names of the states, for texts. */
const char *nm_yarn_log_state_name(enum nm_yarn_log_state state);
