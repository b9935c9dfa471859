/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes event files of an earlier nmd: an accepted event must be the same after printing and parsing. */

#include "agent/journal/slot-file.h"
#include "tests/fuzz/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = fuzz_text(data, size);
    char slot[NM_EVENT_SLOT_BYTES];
    struct nm_event_record before, v, w;
    int r;

    memset(&before, 0x5a, sizeof before);
    memcpy(&v, &before, sizeof v);
    r = nm_event_parse_body(text, &v);
    FUZZ_CHECK(r, before, v);
    if (r < 0)
        return 0;
    nm_event_print(&v, slot);
    if (nm_event_parse(slot, &w) < 0 || v.number != w.number || v.realtime_usec != w.realtime_usec ||
        v.kind != w.kind || v.type != w.type || v.from != w.from || v.to != w.to || strcmp(v.text, w.text) != 0 ||
        strcmp(v.container_id, w.container_id) != 0 || strcmp(v.container_name, w.container_name) != 0)
        abort();
    return 0;
}
