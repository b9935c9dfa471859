/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Buffer for the text of an answer. Its bytes are reserved in the user's quota before they are allocated, and released
 * after the last byte has been sent.
 */

#include <jansson.h>
#include <microhttpd.h>

#include "util/quota.h"

/* Size up to which a text needs no quota, so that an error can be sent even when the quota is used up. */
#define NM_ANSWER_TEXT_FREE_BYTES 4096

struct nm_answer_text {
    struct nm_quota_account *account;
    char *text;
    size_t len, size, rationed;
    int error; /* the first error; text that is added after it is discarded */
};

void nm_answer_text_begin(struct nm_answer_text *a, struct nm_quota_account *account);
void nm_answer_text_add(struct nm_answer_text *a, const char *text, size_t len);
/* Appends j and releases it. NULL means that memory ran out. */
void nm_answer_text_add_json(struct nm_answer_text *a, json_t *j);
void nm_answer_text_done(struct nm_answer_text *a);

/* Creates a response from the text. Returns 0, -ENOBUFS (the user's quota is used up) or -ENOMEM. */
int nm_answer_text_end(struct nm_answer_text *a, struct MHD_Response **ret);
