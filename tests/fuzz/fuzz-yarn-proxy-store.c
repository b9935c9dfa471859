/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes the record of an application master that an earlier nmd has stored, and that a disk may have damaged. An
 * accepted record must be complete. */

#include <stdlib.h>

#include "util/parse.h"
#include "yarn/proxy/proxy-store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char name[] = "appattempt_1410901177871_0007_000002";
    struct nm_yarn_stored_master m;
    char text[NM_YARN_ID_SIZE];
    struct nm_arena a;

    nm_arena_init(&a, nm_arena_limit(size), NULL);
    if (nm_yarn_proxy_store_parse(&a, name, (struct nm_bytes){data, size}, &m) == 0) {
        if (strcmp(nm_yarn_attempt_id_format(&m.attempt, text), name) != 0 || !nm_user_name_is_valid(m.submitter))
            abort();
        for (size_t i = 0; i < m.n_placed; i++)
            if (m.placed[i].size > size)
                abort();
        for (size_t i = 0; i < m.n_known_nodes; i++)
            if (!m.known_nodes[i].host)
                abort();
    }
    nm_arena_done(&a);
    return 0;
}
