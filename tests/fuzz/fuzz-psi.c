/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes the parser of pressure files. */

#include "cgroup/cgroup.h"
#include "tests/fuzz/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = fuzz_text(data, size);
    struct nm_psi before, v;
    int r;

    memset(&before, 0x5a, sizeof before);
    memcpy(&v, &before, sizeof v);
    r = nm_psi_parse(text, &v);
    FUZZ_CHECK(r, before, v);
    if (r == 0 && (v.some.avg10 < 0 || v.some.avg60 < 0 || v.some.avg300 < 0))
        abort();
    return 0;
}
