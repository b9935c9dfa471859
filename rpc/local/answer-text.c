/* SPDX-License-Identifier: Apache-2.0 */

/* See answer-text.h. */

#include "rpc/local/answer-text.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "rpc/local/messages.h"
#include "util/macros.h"

/* A text that is being sent, and the account to which its bytes are returned afterwards. */
struct sent {
    struct nm_quota_account *account;
    char *text;
    size_t rationed;
};

void nm_answer_text_begin(struct nm_answer_text *a, struct nm_quota_account *account)
{
    assert(account);
    *a = (struct nm_answer_text){.account = account};
}

void nm_answer_text_done(struct nm_answer_text *a)
{
    if (a->account)
        nm_quota_account_give(a->account, a->rationed);
    free(a->text);
    *a = (struct nm_answer_text){};
}

/* Reserves the quota before allocating, because the allocator itself doesn't limit users. */
static int resize(struct nm_answer_text *a, size_t size)
{
    size_t rationed = size > NM_ANSWER_TEXT_FREE_BYTES ? size : 0;
    char *text;

    if (rationed > a->rationed && !nm_quota_account_take(a->account, rationed - a->rationed))
        return -ENOBUFS;
    if (rationed < a->rationed)
        nm_quota_account_give(a->account, a->rationed - rationed);
    a->rationed = rationed;
    text = realloc(a->text, size);
    if (!text)
        return -ENOMEM;
    a->text = text;
    a->size = size;
    return 0;
}

void nm_answer_text_add(struct nm_answer_text *a, const char *text, size_t len)
{
    size_t doubled = a->size > 0 ? a->size * 2 : 1024;

    assert(a->account && a->len <= a->size);
    if (a->error == 0 && a->len + len > a->size)
        a->error = resize(a, NM_MAX(a->len + len, doubled));
    if (a->error != 0)
        return;
    memcpy(a->text + a->len, text, len);
    a->len += len;
}

static int add_piece(const char *text, size_t len, void *userdata)
{
    struct nm_answer_text *a = userdata;

    nm_answer_text_add(a, text, len);
    return a->error == 0 ? 0 : -1;
}

void nm_answer_text_add_json(struct nm_answer_text *a, json_t *j)
{
    int r = j ? json_dump_callback(j, add_piece, a, NM_MESSAGES_DUMP_FLAGS) : -1;

    if (r < 0 && a->error == 0)
        a->error = -ENOMEM;
    json_decref(j);
}

static void free_sent(void *userdata)
{
    struct sent *s = userdata;

    nm_quota_account_give(s->account, s->rationed);
    nm_quota_account_unref(s->account);
    free(s->text);
    free(s);
}

int nm_answer_text_end(struct nm_answer_text *a, struct MHD_Response **ret)
{
    struct sent *s;

    if (a->error == 0)
        a->error = resize(a, NM_MAX(a->len, (size_t)1)); /* shrink the buffer to the used size */
    if (a->error != 0)
        return a->error;
    s = malloc(sizeof *s);
    if (!s)
        return -ENOMEM;
    *s = (struct sent){nm_quota_account_ref(a->account), a->text, a->rationed};
    *ret = MHD_create_response_from_buffer_with_free_callback_cls(a->len, a->text, free_sent, s);
    *a = (struct nm_answer_text){};
    if (*ret)
        return 0;
    free_sent(s);
    return -ENOMEM;
}
