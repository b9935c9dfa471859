/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Works around two properties of protobuf-c. First, protobuf-c stores string fields as C strings, so a NUL in a string
 * silently truncates it. Second, the data of an empty bytes field is NULL, which strdup() and many libraries don't
 * accept. nm_arena_unpack() applies these functions to each message.
 */

#include <protobuf-c/protobuf-c.h>

#include "rpc/hadoop/bytes.h"

/* Returns whether a string field of the packed message or of a nested message contains NUL. Ignores the fields that
 * nm_fields_blank() handles. *ret_path is the path of the field found, such as "context.environment.value", shortened
 * at the front to fit into size. A malformed message is searched up to its first error. */
bool nm_fields_have_nul(const ProtobufCMessageDescriptor *type, struct nm_bytes message, char *ret_path, size_t size);

/* Replaces NULs by blanks in fields named "diagnostics" of the packed message and of nested messages. `copy` is a copy
 * of the message in which the NULs are replaced; it may be NULL. Returns the number of NULs. Only people read these
 * texts, so a NUL in them doesn't make the whole message invalid. */
size_t nm_fields_blank(const ProtobufCMessageDescriptor *type, struct nm_bytes message, uint8_t *copy);

/* Sets the data of empty bytes fields of the message and of nested messages to a pointer that isn't NULL. */
void nm_fields_fill_empty(ProtobufCMessage *message);
