/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes packets of Hadoop's RPC. Each message in a packet is unpacked as each type that may be at this position. */

#include <stdlib.h>

#include "rpc/hadoop/arena.h"
#include "rpc/hadoop/packet.h"
#include "rpc/hadoop/rpc.pb-c.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const ProtobufCMessageDescriptor *const types[] = {
        &hadoop__rpc_request__descriptor, &hadoop__rpc_response__descriptor,       &hadoop__rpc_sasl__descriptor,
        &hadoop__request_header__descriptor, &hadoop__connection_context__descriptor,
    };
    struct nm_bytes packet = {data, size}, message;

    while (nm_packet_next(&packet, &message) == 0) {
        if (message.data < data || message.data + message.size > data + size)
            abort();
        for (size_t i = 0; i < NM_ARRAY_SIZE(types); i++) {
            size_t limit = nm_arena_limit(message.size);
            const ProtobufCMessage *m;
            struct nm_arena a;

            nm_arena_init(&a, limit, NULL);
            m = nm_arena_unpack(&a, types[i], message);
            if (a.left > limit || (m && !protobuf_c_message_check(m)))
                abort();
            nm_arena_done(&a);
        }
    }
    return 0;
}
