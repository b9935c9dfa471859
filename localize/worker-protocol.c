/* SPDX-License-Identifier: Apache-2.0 */

/* See worker-protocol.h. */

#include "localize/worker-protocol.h"

#include "util/error.h"
#include "util/macros.h"

static int get_state(const char *word, enum nm_worker_reply_state *ret)
{
    static const char *const words[] = {
        [NM_REPLY_FETCHING] = "fetching",
        [NM_REPLY_UNPACKING] = "unpacking",
        [NM_REPLY_REMOVING] = "removing",
        [NM_REPLY_DONE] = "done",
        [NM_REPLY_FAILED] = "failed",
    };

    for (size_t i = 0; i < NM_ARRAY_SIZE(words); i++)
        if (nm_streq(word, words[i])) {
            *ret = (enum nm_worker_reply_state)i;
            return 0;
        }
    return -EBADMSG;
}

/* Parses a line strictly, as the worker parses its work. A valid line is about one item of one list. Any other line was
 * written not by nm-localizer but by another process of the user. */
int nm_worker_reply_parse(const char *text, size_t size, struct nm_worker_reply *ret)
{
    _cleanup_(nm_worker_reply_done) struct nm_worker_reply reply = {.error = ""};
    json_int_t at[] = {[NM_REPLY_RESOURCE] = -1, [NM_REPLY_REMOVAL] = -1, [NM_REPLY_CHECK] = -1};
    json_int_t bytes = 0, total = 0;
    const char *state;
    int full = 0, listed = 0, n = 0;

    reply.json = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    if (!reply.json || json_unpack_ex(reply.json, NULL, JSON_STRICT,
                                      "{s?:I, s?:I, s?:I, s:s, s?:I, s?:I, s?:s, s?:b, s?:b}",
                                      "resource", &at[NM_REPLY_RESOURCE], "removal", &at[NM_REPLY_REMOVAL], "check",
                                      &at[NM_REPLY_CHECK], "state", &state, "bytes", &bytes, "total", &total, "error",
                                      &reply.error, "full", &full, "listed", &listed) < 0)
        return -EBADMSG;
    for (size_t i = 0; i < NM_ARRAY_SIZE(at); i++)
        if (at[i] >= 0) {
            reply.list = (enum nm_worker_reply_list)i;
            reply.index = (size_t)at[i];
            n++;
        }
    if (n != 1 || bytes < 0 || total < 0 || get_state(state, &reply.state) < 0)
        return -EBADMSG;
    reply.is_full = full && reply.state == NM_REPLY_FAILED;
    reply.is_listed = listed && reply.state == NM_REPLY_DONE;
    reply.bytes = (uint64_t)bytes;
    reply.total_bytes = (uint64_t)total;
    *ret = reply;
    reply.json = NULL;
    return 0;
}

void nm_worker_reply_done(struct nm_worker_reply *reply)
{
    json_decref(reply->json);
    reply->json = NULL;
}
