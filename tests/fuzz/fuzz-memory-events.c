/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes the parser of memory.events. */

#include "cgroup/cgroup.h"
#include "tests/fuzz/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = fuzz_text(data, size);
    struct nm_cgroup_memory_events before, v;
    int r;

    memset(&before, 0x5a, sizeof before);
    memcpy(&v, &before, sizeof v);
    r = nm_cgroup_parse_memory_events(text, &v);
    FUZZ_CHECK(r, before, v);
    return 0;
}
