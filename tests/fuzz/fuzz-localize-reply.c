/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes the reports of nm-localizer. A process of the user may send other reports instead. */

#include "localize/worker-protocol.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nm_worker_reply reply = {.index = 99};

    if (nm_worker_reply_parse((const char *)data, size, &reply) < 0) {
        if (reply.json || reply.index != 99)
            abort();
        return 0;
    }
    if (!reply.error || reply.bytes > INT64_MAX || reply.total_bytes > INT64_MAX || reply.state > NM_REPLY_FAILED)
        abort();
    nm_worker_reply_done(&reply);
    return 0;
}
