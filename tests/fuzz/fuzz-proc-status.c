/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes the parser of /proc/PID/status. */

#include "monitor/parse.h"
#include "tests/fuzz/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = fuzz_text(data, size);
    struct nm_proc_memory before, v;
    int r;

    memset(&before, 0x5a, sizeof before);
    memcpy(&v, &before, sizeof v);
    r = nm_monitor_parse_status(text, &v);
    FUZZ_CHECK(r == NM_MONITOR_THREAD_ENDED ? -1 : r, before, v);
    return 0;
}
