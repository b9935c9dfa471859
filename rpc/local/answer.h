/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The text of an answer while it is made. What it takes is asked of the user's ration before it is
 * allocated, and given back when the last byte has been sent.
 */

#include <jansson.h>
#include <microhttpd.h>

#include "util/quota.h"

struct nm_answer {
    struct nm_quota_account *account;
    char *text;
    size_t len, size, rationed;
    int error; /* the first thing that went wrong; what is added after it is lost */
};

void nm_answer_begin(struct nm_answer *a, struct nm_quota_account *account);
void nm_answer_add(struct nm_answer *a, const char *text, size_t len);
/* Takes j; NULL: there was no memory for it. */
void nm_answer_add_json(struct nm_answer *a, json_t *j);
void nm_answer_done(struct nm_answer *a);

/* Ends it. 0, -ENOBUFS (the ration is used up) or -ENOMEM. */
int nm_answer_end(struct nm_answer *a, struct MHD_Response **ret);
