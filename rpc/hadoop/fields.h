/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Works around two properties of protobuf-c. It stores string fields as C strings, so that a NUL in one silently
 * truncates it. The data of an empty bytes field is NULL, which strdup() and many libraries don't accept.
 * nm_arena_unpack() applies these functions to each message.
 */

#include <protobuf-c/protobuf-c.h>

#include "rpc/hadoop/bytes.h"

/* Returns whether a string field of the packed message or of a nested one contains NUL, except in the fields that
 * nm_fields_blank() handles. *ret_path is then the path of the field, such as "context.environment.value", shortened
 * at the front to fit into size. A malformed message is searched up to its error. */
bool nm_fields_have_nul(const ProtobufCMessageDescriptor *type, struct nm_bytes message, char *ret_path, size_t size);

/* Replaces NULs in fields named "diagnostics" of the packed message and of nested ones by blanks in `copy`, a copy of
 * the message. `copy` may be NULL. Returns the number of NULs. Because only people read these texts, a NUL in one
 * needn't invalidate the whole message. */
size_t nm_fields_blank(const ProtobufCMessageDescriptor *type, struct nm_bytes message, uint8_t *copy);

/* Sets the data of empty bytes fields of the message and of nested ones to a pointer that isn't NULL. */
void nm_fields_fill_empty(ProtobufCMessage *message);
