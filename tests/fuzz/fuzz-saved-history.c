/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes points of the history and ended applications of an earlier nmd: accepted points and applications must be the
 * same after printing and parsing. */

#include "agent/journal/slot-file.h"
#include "tests/fuzz/text.h"

static void read_point(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = fuzz_text(data, size);
    char printed[NM_LONG_HISTORY_SLOT_BYTES];
    struct nm_history_point before, v, w;
    int r;

    memset(&before, 0x5a, sizeof before);
    memcpy(&v, &before, sizeof v);
    r = nm_long_history_parse(text, &v);
    FUZZ_CHECK(r, before, v);
    if (r < 0)
        return;
    nm_long_history_print(&v, printed, sizeof printed);
    if (nm_long_history_parse(printed, &w) < 0 || memcmp(v.use, w.use, sizeof v.use) != 0 || v.at_usec != w.at_usec ||
        v.queued != w.queued || memcmp(v.pressure, w.pressure, sizeof v.pressure) != 0)
        abort();
}

static void read_app(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = fuzz_text(data, size);
    char printed[NM_ENDED_APP_SLOT_BYTES];
    struct nm_ended_app before, v, w;
    int r;

    memset(&before, 0x5a, sizeof before);
    memcpy(&v, &before, sizeof v);
    r = nm_ended_app_parse(text, &v);
    FUZZ_CHECK(r, before, v);
    if (r < 0)
        return;
    nm_ended_app_print(&v, printed, sizeof printed);
    if (nm_ended_app_parse(printed, &w) < 0 || strcmp(v.name, w.name) != 0 || v.submitter_uid != w.submitter_uid ||
        v.last_ended_usec != w.last_ended_usec || v.killed != w.killed || v.memory_peak_bytes != w.memory_peak_bytes)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    read_point(data, size);
    read_app(data, size);
    return 0;
}
