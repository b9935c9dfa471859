/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes the parser of a cgroup's cpu.stat. */

#include "monitor/parse.h"
#include "tests/fuzz/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = fuzz_text(data, size);
    struct nm_cpu_stat before, v;
    int r;

    memset(&before, 0x5a, sizeof before);
    memcpy(&v, &before, sizeof v);
    r = nm_monitor_parse_cpu_stat(text, &v);
    FUZZ_CHECK(r, before, v);
    return 0;
}
