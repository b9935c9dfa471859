/* SPDX-License-Identifier: Apache-2.0 */

/* See protocol.h. protobuf-c's has_ members must be set even for default values, because Java refuses packets without
 * a kind and an operation. */

#include "rpc/hadoop/protocol.h"

#include "rpc/hadoop/packet.h"

static ProtobufCBinaryData client_id(const struct nm_protocol_id *id)
{
    return (ProtobufCBinaryData){id->client_size, (uint8_t *)id->client};
}

int nm_protocol_request(const struct nm_protocol_id *id, const ProtobufCMessage *header,
                        const ProtobufCMessage *message, struct nm_packet_frame **ret)
{
    Hadoop__RpcRequest request = HADOOP__RPC_REQUEST__INIT;
    const ProtobufCMessage *messages[4] = {&request.base};
    unsigned n = 1;

    request.has_kind = request.has_operation = request.has_retry_count = 1;
    request.kind = HADOOP__RPC_REQUEST__KIND__PROTOCOL_BUFFER;
    request.operation = HADOOP__RPC_REQUEST__OPERATION__FINAL_PACKET;
    request.call_id = id->call;
    request.client_id = client_id(id);
    request.retry_count = id->retry;
    request.has_caller_context = id->caller_context.size > 0;
    request.caller_context =
        (ProtobufCBinaryData){id->caller_context.size, (uint8_t *)(uintptr_t)id->caller_context.data};
    if (header)
        messages[n++] = header;
    if (message)
        messages[n++] = message;
    return nm_packet_build(messages, NULL, ret);
}

static Hadoop__RpcResponse response(const struct nm_protocol_id *id)
{
    Hadoop__RpcResponse r = HADOOP__RPC_RESPONSE__INIT;

    r.call_id = (uint32_t)id->call;
    r.status = HADOOP__RPC_RESPONSE__STATUS__SUCCESS;
    r.has_ipc_version = r.has_client_id = r.has_retry_count = 1;
    r.ipc_version = NM_HADOOP_FRAME_VERSION;
    r.client_id = client_id(id);
    r.retry_count = id->retry;
    return r;
}

int nm_protocol_answer(const struct nm_protocol_id *id, const ProtobufCMessage *message,
                       struct nm_packet_frame **ret)
{
    Hadoop__RpcResponse r = response(id);
    const ProtobufCMessage *messages[] = {&r.base, message, NULL};

    return nm_packet_build(messages, NULL, ret);
}

int nm_protocol_error(const struct nm_protocol_id *id, const struct nm_exception *e, struct nm_packet_frame **ret)
{
    Hadoop__RpcResponse r = response(id);
    const ProtobufCMessage *messages[] = {&r.base, NULL};

    r.status = nm_protocol_is_fatal(e) ? HADOOP__RPC_RESPONSE__STATUS__FATAL : HADOOP__RPC_RESPONSE__STATUS__ERROR;
    r.exception_class = (char *)e->class_name;
    r.has_error_message = 1;
    r.error_message = (ProtobufCBinaryData){strlen(e->message), (uint8_t *)(uintptr_t)e->message};
    r.has_error_detail = e->detail != 0;
    r.error_detail = e->detail;
    return nm_packet_build(messages, NULL, ret);
}
