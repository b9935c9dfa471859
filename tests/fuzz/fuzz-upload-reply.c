/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes the reports of nm-log-uploader. A process of the user may send other reports instead. */

#include "aggregate/upload-protocol.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nm_upload_reply reply = {.n_files = 99};

    if (nm_upload_reply_parse((const char *)data, size, &reply) < 0) {
        if (reply.json || reply.n_files != 99)
            abort();
        return 0;
    }
    if (!reply.text || !reply.name || reply.bytes > INT64_MAX || reply.total_bytes > INT64_MAX ||
        reply.n_files > INT64_MAX || reply.state > NM_UPLOAD_FAILED)
        abort();
    nm_upload_reply_done(&reply);
    return 0;
}
