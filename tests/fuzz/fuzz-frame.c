/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes the frames that a client of a session sends to its shim, which runs as root: one frame after the other, in
 * pieces. The reader must not request more data than its buffer can hold. */

#include "util/frame.h"

#include <stdlib.h>
#include <string.h>

#include "util/macros.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct nm_frame f;
    struct nm_frame_end end;
    uint16_t rows, columns;

    f.len = 0;
    for (size_t at = 0; at < size;) {
        size_t wants = nm_frame_missing_bytes(&f), n = NM_MIN(wants, size - at);
        int r;

        if (wants == 0 || f.len + wants > sizeof f.data)
            abort();
        n = NM_MIN(n, (size_t)(data[at] % 7 + 1));
        memcpy(f.data + f.len, data + at, n);
        at += n;
        r = nm_frame_received(&f, n);
        if (r < 0)
            return 0;
        if (r != NM_FRAME_E_WHOLE)
            continue;
        if (nm_frame_size(&f) > NM_FRAME_MAX || f.len != NM_FRAME_HEAD + nm_frame_size(&f))
            abort();
        (void)nm_frame_parse_size(&f, &rows, &columns);
        (void)nm_frame_parse_end(&f, &end);
        f.len = 0;
    }
    return 0;
}
