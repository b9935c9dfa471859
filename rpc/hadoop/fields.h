/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Two properties of protobuf-c that its users must not have to remember. It makes C strings of string fields, so that a
 * NUL inside one cuts it silently; and the data of a bytes field without bytes is NULL, which strdup() and many
 * libraries do not take. nm_arena_unpack() uses both functions for each message.
 */

#include <protobuf-c/protobuf-c.h>

#include "rpc/hadoop/bytes.h"

/* Returns whether a string field of the packed message, or of one inside it, contains NUL, other than what
 * nm_fields_blank() is for; *ret_path is then that
 * field's path, such as "context.environment.value", of which the end fits into size. A message that is not well-formed
 * is searched up to there. */
bool nm_fields_have_nul(const ProtobufCMessageDescriptor *type, struct nm_bytes message, char *ret_path, size_t size);

/* Finds NULs in the fields "diagnostics" of the packed message and of those inside it, and replaces them by blanks in
 * `copy`, which has the same bytes, unless that is NULL. Returns how many there are. Only people read these texts, so a
 * NUL in one is no reason to refuse the rest of the message. */
size_t nm_fields_blank(const ProtobufCMessageDescriptor *type, struct nm_bytes message, uint8_t *copy);

/* Gives each bytes field of the message, and of those inside it, data that is not NULL. */
void nm_fields_fill_empty(ProtobufCMessage *message);
