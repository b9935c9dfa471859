/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes a shim's record: an accepted record must be the same after printing and parsing. */

#include "agent/launch/record.h"
#include "tests/fuzz/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = fuzz_text(data, size);
    char again[NM_LAUNCH_RECORD_SIZE];
    struct nm_launch_record before, v, w;
    int r;

    memset(&before, 0x5a, sizeof before);
    memcpy(&v, &before, sizeof v);
    r = nm_launch_record_parse(text, &v);
    FUZZ_CHECK(r, before, v);
    if (r < 0 || v.phase == NM_LAUNCH_WAITING)
        return 0;
    if (nm_launch_record_print(&v, again, sizeof again) < 0 ||
        nm_launch_record_parse(again, &w) < 0)
        abort();
    if (v.phase != w.phase || v.ended_usec != w.ended_usec || v.exit_code != w.exit_code ||
        v.exit_signal != w.exit_signal || v.failed_stage != w.failed_stage ||
        v.failed_errno != w.failed_errno)
        abort();
    return 0;
}
