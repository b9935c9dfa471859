/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * An error that the peer sent or that nmd sends to the peer: a message and the name of a Java class, from which the
 * peer creates an exception. Both are truncated to the sizes below. A Java stack trace in a received message is
 * removed.
 */

#include <stdbool.h>
#include <stdint.h>

#include "util/macros.h"

/* Exception classes of the RPC layer. */
#define NM_EXCEPTION_ACCESS "org.apache.hadoop.security.AccessControlException"
#define NM_EXCEPTION_INVALID_TOKEN "org.apache.hadoop.security.token.SecretManager$InvalidToken"
#define NM_EXCEPTION_NO_METHOD "org.apache.hadoop.ipc.RpcNoSuchMethodException"
#define NM_EXCEPTION_NO_PROTOCOL "org.apache.hadoop.ipc.RpcNoSuchProtocolException"
#define NM_EXCEPTION_SASL "javax.security.sasl.SaslException"
#define NM_EXCEPTION_SERVER "org.apache.hadoop.ipc.RpcServerException"
#define NM_EXCEPTION_RETRY "org.apache.hadoop.ipc.RetriableException"
#define NM_EXCEPTION_VERSION "org.apache.hadoop.ipc.RPC$VersionMismatch"

/* Values of RpcErrorCodeProto. FATAL_UNKNOWN and higher values end the connection. */
enum nm_exception_detail {
    NM_EXCEPTION_APPLICATION = 1,
    NM_EXCEPTION_DETAIL_NO_METHOD = 2,
    NM_EXCEPTION_DETAIL_NO_PROTOCOL = 3,
    NM_EXCEPTION_RPC_SERVER = 4,
    NM_EXCEPTION_SERIALIZING = 5,
    NM_EXCEPTION_DETAIL_VERSION = 6,
    NM_EXCEPTION_FATAL_UNKNOWN = 10,
    NM_EXCEPTION_FATAL_SERIALIZATION = 11,
    NM_EXCEPTION_FATAL_HEADER = 12,
    NM_EXCEPTION_FATAL_REQUEST = 13,
    NM_EXCEPTION_FATAL_VERSION = 14,
    NM_EXCEPTION_FATAL_UNAUTHORIZED = 15,
};

struct nm_exception {
    int detail; /* enum nm_exception_detail, or another received value; 0: no detail was received */
    char class_name[160];
    char message[1024];
};

/* Formats the message, and truncates it between two characters. */
nm_printf(4, 5) void nm_exception_set(struct nm_exception *e, int detail, const char *class_name,
                                      const char *format, ...);

/* Stores a received exception; missing parts are NULL. Control characters become blanks, and invalid UTF-8 becomes
 * '?'. */
void nm_exception_receive(struct nm_exception *e, int detail, const char *class_name, const char *message);

static inline bool nm_exception_is(const struct nm_exception *e, const char *class_name)
{
    return nm_streq(e->class_name, class_name);
}
