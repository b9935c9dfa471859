/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes nm-shuffle's requests from the network. Each accepted id must be safe as a part of a path. */

#include <stdlib.h>

#include "shuffle/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must_be_safe(struct nm_bytes word)
{
    if (word.size == 0 || word.size > 128 || memchr(word.data, '/', word.size) || memchr(word.data, '.', word.size) ||
        memchr(word.data, '\0', word.size))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nm_bytes received = {data, size};
    static uint8_t decoded[NM_SHUFFLE_HEAD_MAX];
    struct nm_shuffle_request q;
    const char *why = NULL;
    size_t head = nm_shuffle_head_size(received);

    if (head == 0 || head > NM_SHUFFLE_HEAD_MAX)
        return 0;
    received.size = head;
    if (nm_shuffle_request_parse(received, decoded, &q, &why) != 0)
        return *why ? 0 : 1;
    must_be_safe(q.job);
    if (q.n_maps == 0 || q.n_maps > NM_SHUFFLE_MAPS_MAX || q.n_reduces == 0 ||
        (uint64_t)q.n_maps * q.n_reduces > NM_SHUFFLE_PARTS_MAX || (uint64_t)q.reduce + q.n_reduces - 1 > INT32_MAX ||
        (q.n_reduces > 1 && !q.is_range))
        abort();
    for (unsigned i = 0; i < q.n_maps; i++)
        must_be_safe(q.maps[i]);
    return 0;
}
