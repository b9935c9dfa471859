/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes the parser of a cgroup's memory.stat and the sum for the policy. Even if the counters contradict each other,
 * the sum must not be less than the memory that is certainly in use, and must not exceed the sum of all counters. */

#include "monitor/parse.h"
#include "tests/fuzz/text.h"

static uint64_t add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = fuzz_text(data, size);
    struct nm_memory_stat before, v;
    uint64_t used, least;
    int r;

    memset(&before, 0x5a, sizeof before);
    v = before;
    r = nm_monitor_parse_memory_stat(text, &v);
    FUZZ_CHECK(r, before, v);
    if (r < 0)
        return 0;
    used = nm_memory_stat_used_bytes(&v);
    least = add(v.anon, v.shmem);
    if (used < least || used > add(add(add(least, v.kernel), v.unevictable), v.file_writeback))
        abort();
    return 0;
}
