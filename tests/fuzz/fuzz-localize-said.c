/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes the reports of nm-localizer, or of a process that a user has put in its place. */

#include "localize/worker-protocol.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nm_worker_reply said = {.index = 99};

    if (nm_worker_reply_parse((const char *)data, size, &said) < 0) {
        if (said.json || said.index != 99)
            abort();
        return 0;
    }
    if (!said.error || said.bytes > INT64_MAX || said.total_bytes > INT64_MAX || said.state > NM_SAID_FAILED)
        abort();
    nm_worker_reply_done(&said);
    return 0;
}
