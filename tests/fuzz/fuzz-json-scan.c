/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Fuzzes the scan of a body before it is parsed. The parsed text never has more values, depth or memory than the scan
 * has reported.
 */

#include "text.h"

#include <jansson.h>

#include "rpc/local/json-scan.h"
#include "tests/unit/counted-memory.h"

static size_t count(const json_t *j, size_t depth, size_t *ret_depth)
{
    size_t n = 1, i;
    const char *name;
    json_t *v;

    if (json_is_array(j) || json_is_object(j))
        depth++;
    *ret_depth = NM_MAX(*ret_depth, depth);
    json_array_foreach(j, i, v)
        n += count(v, depth, ret_depth);
    json_object_foreach((json_t *)j, name, v)
        n += 1 + count(v, depth, ret_depth);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nm_json_size s = nm_json_scan((const char *)data, size);
    size_t depth = 0;
    json_t *j;

    if (s.n_containers > s.n_values || s.depth > s.n_containers || s.n_values > size)
        abort();
    if (s.n_containers > NM_JSON_CONTAINERS_MAX || s.depth > NM_JSON_DEPTH_MAX || s.n_values > NM_JSON_VALUES_MAX)
        return 0; /* the scan has refused the text before its end */
    held = peak = 0;
    json_set_alloc_funcs(counted, uncounted);
    j = json_loadb((const char *)data, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    if (j && (count(j, 0, &depth) > s.n_values || depth > s.depth))
        abort();
    json_decref(j);
    json_set_alloc_funcs(malloc, free);
    if (peak > s.tree_bytes + 1024) /* the initial allocations are not counted */
        abort();
    return 0;
}
