/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What went wrong on the other side, or is to be said to it: the name of a Java class, which the other side makes an
 * object of, and a sentence. Both are cut to what fits here; of a message that comes with a Java stack trace the trace
 * is left out.
 */

#include <stdbool.h>
#include <stdint.h>

#include "util/macros.h"

/* Classes that RPC itself speaks of. */
#define NM_EXCEPTION_ACCESS "org.apache.hadoop.security.AccessControlException"
#define NM_EXCEPTION_INVALID_TOKEN "org.apache.hadoop.security.token.SecretManager$InvalidToken"
#define NM_EXCEPTION_NO_METHOD "org.apache.hadoop.ipc.RpcNoSuchMethodException"
#define NM_EXCEPTION_NO_PROTOCOL "org.apache.hadoop.ipc.RpcNoSuchProtocolException"
#define NM_EXCEPTION_SASL "javax.security.sasl.SaslException"
#define NM_EXCEPTION_SERVER "org.apache.hadoop.ipc.RpcServerException"
#define NM_EXCEPTION_RETRY "org.apache.hadoop.ipc.RetriableException"
#define NM_EXCEPTION_VERSION "org.apache.hadoop.ipc.RPC$VersionMismatch"

/* RpcErrorCodeProto. From FATAL_UNKNOWN on the connection ends. */
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
    int detail; /* enum nm_exception_detail, or what else came; 0: none was given */
    char class_name[160];
    char message[1024];
};

/* The message is formatted; it is cut between two characters. */
nm_printf(4, 5) void nm_exception_set(struct nm_exception *e, int detail, const char *class_name,
                                      const char *format, ...);

/* As it came: NULL for what didn't. Control characters become blanks, what isn't UTF-8 becomes '?'. */
void nm_exception_receive(struct nm_exception *e, int detail, const char *class_name, const char *message);

static inline bool nm_exception_is(const struct nm_exception *e, const char *class_name)
{
    return nm_streq(e->class_name, class_name);
}
