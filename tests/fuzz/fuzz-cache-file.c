/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes the cache files that an earlier nmd has written, and that a disk may have damaged. */

#include <jansson.h>

#include "localize/layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nm_cache_entry e = {.id = 99};
    json_t *json = NULL;

    if (nm_cache_file_parse((const char *)data, size, "b", &e, &json) < 0) {
        if (json || e.id != 99)
            abort();
        return 0;
    }
    if (!e.key.user || !e.key.application || !e.key.uri || !e.key.pattern || e.bytes > INT64_MAX)
        abort();
    json_decref(json);
    return 0;
}
