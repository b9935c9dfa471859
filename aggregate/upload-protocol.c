/* SPDX-License-Identifier: Apache-2.0 */

/* See upload-protocol.h. */

#include "aggregate/upload-protocol.h"

#include "util/error.h"
#include "util/macros.h"
#include "util/parse.h"

static const char *const states[] = {
    [NM_UPLOAD_UPLOADING] = "uploading",
    [NM_UPLOAD_NOTE] = "note",
    [NM_UPLOAD_DONE] = "done",
    [NM_UPLOAD_FAILED] = "failed",
};

/* Reads the members of one state strictly, as the worker reads its work. Any other line was written not by
 * nm-log-uploader but by another process of the user. */
static int read_members(json_t *json, struct nm_upload_reply *reply)
{
    json_int_t bytes = 0, total = 0, files = 0;
    const char *state;
    int temporary = 0, full = 0, r = -1;

    switch (reply->state) {
    case NM_UPLOAD_UPLOADING:
        r = json_unpack_ex(json, NULL, JSON_STRICT, "{s:s, s:I, s:I}", "state", &state, "bytes", &bytes, "total",
                           &total);
        break;
    case NM_UPLOAD_NOTE:
        r = json_unpack_ex(json, NULL, JSON_STRICT, "{s:s, s:s}", "state", &state, "text", &reply->text);
        break;
    case NM_UPLOAD_DONE:
        r = json_unpack_ex(json, NULL, JSON_STRICT, "{s:s, s:I, s:I, s:s}", "state", &state, "bytes", &bytes, "files",
                           &files, "name", &reply->name);
        break;
    case NM_UPLOAD_FAILED:
        r = json_unpack_ex(json, NULL, JSON_STRICT, "{s:s, s:s, s:b, s:b}", "state", &state, "error", &reply->text,
                           "temporary", &temporary, "full", &full);
        break;
    }
    if (r < 0 || bytes < 0 || total < 0 || files < 0 || files > (json_int_t)NM_UPLOAD_MAX_FILES)
        return -EBADMSG;
    reply->bytes = (uint64_t)bytes;
    reply->total_bytes = (uint64_t)total;
    reply->n_files = (uint64_t)files;
    reply->is_temporary = temporary;
    reply->is_full = full;
    return 0;
}

int nm_upload_reply_parse(const char *text, size_t size, struct nm_upload_reply *ret)
{
    _cleanup_(nm_upload_reply_done) struct nm_upload_reply reply = {.text = "", .name = ""};
    const char *state;

    if (size > NM_UPLOAD_LINE_MAX_BYTES)
        return -EBADMSG;
    reply.json = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    if (!reply.json || json_unpack(reply.json, "{s:s}", "state", &state) < 0 ||
        NM_PARSE_NAME(states, state, &reply.state) < 0 || read_members(reply.json, &reply) < 0)
        return -EBADMSG;
    *ret = reply;
    reply.json = NULL;
    return 0;
}

void nm_upload_reply_done(struct nm_upload_reply *reply)
{
    json_decref(reply->json);
    reply->json = NULL;
}
