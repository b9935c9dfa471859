/* SPDX-License-Identifier: Apache-2.0 */

/* See master-key.h. */

#include "yarn/master-key.h"

#include <string.h>

Yarn__MasterKey nm_yarn_key_message(const struct nm_yarn_master_key *key)
{
    Yarn__MasterKey m = YARN__MASTER_KEY__INIT;

    m.has_id = m.has_key = 1;
    m.id = key->id;
    m.key = (ProtobufCBinaryData){key->size, (uint8_t *)key->bytes};
    return m;
}

bool nm_yarn_is_key(const Yarn__MasterKey *m)
{
    return m && m->has_id && m->has_key && m->key.len > 0 && m->key.len <= NM_YARN_KEY_MAX;
}

bool nm_yarn_key_from_message(const Yarn__MasterKey *m, struct nm_yarn_master_key *ret)
{
    if (!nm_yarn_is_key(m))
        return false;
    *ret = (struct nm_yarn_master_key){.id = m->id, .size = m->key.len};
    (void)memcpy(ret->bytes, m->key.data, m->key.len);
    return true;
}
