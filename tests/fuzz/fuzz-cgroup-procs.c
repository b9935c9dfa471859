/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes the parser of cgroup.procs, with an array that is too small for the larger inputs. */

#include "monitor/parse.h"
#include "tests/fuzz/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MAX = 4 };
    _cleanup_free_ char *text = fuzz_text(data, size);
    _cleanup_free_ pid_t *pids = calloc(MAX, sizeof *pids);
    unsigned n, total;

    if (!pids)
        abort();
    if (nm_monitor_parse_procs(text, pids, MAX, &n, &total) < 0)
        return 0;
    if (n != NM_MIN(total, (unsigned)MAX))
        abort();
    for (unsigned i = 0; i < n; i++)
        if (pids[i] <= 0)
            abort();
    return 0;
}
