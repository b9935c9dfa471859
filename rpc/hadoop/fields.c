/* SPDX-License-Identifier: Apache-2.0 */

/* See fields.h. Parses messages by the rules of protobuf-c: a length has at most five bytes, and groups are
 * rejected. */

#include "rpc/hadoop/fields.h"

#include <stdio.h>

/* ---- a packed message --------------------------------------------------------------------- */

enum wire_type { VARINT = 0, FIXED64 = 1, LENGTH_DELIMITED = 2, FIXED32 = 5 };

static bool take_varint(struct nm_bytes *from, unsigned max, uint64_t *ret)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < max && i < from->size; i++) {
        value |= (uint64_t)(from->data[i] & 0x7f) << (7 * i);
        if (from->data[i] & 0x80)
            continue;
        (void)nm_bytes_take(from, i + 1);
        *ret = value;
        return true;
    }
    return false;
}

static bool skip(struct nm_bytes *from, size_t size)
{
    if (size > from->size)
        return false;
    (void)nm_bytes_take(from, size);
    return true;
}

/* Removes the next field from the front. *ret_value has data only if the field has a length. */
static bool take_field(struct nm_bytes *from, unsigned *ret_number, struct nm_bytes *ret_value)
{
    uint64_t key, number;

    *ret_value = (struct nm_bytes){};
    if (!take_varint(from, 5, &key))
        return false;
    *ret_number = (unsigned)(key >> 3);
    switch ((enum wire_type)(key & 7)) {
    case VARINT:
        return take_varint(from, 10, &number);
    case FIXED64:
        return skip(from, 8);
    case FIXED32:
        return skip(from, 4);
    case LENGTH_DELIMITED:
        if (!take_varint(from, 5, &number) || number > from->size)
            return false;
        *ret_value = nm_bytes_take(from, (size_t)number);
        return true;
    }
    return false;
}

static void prepend(char *path, size_t size, const char *name)
{
    size_t n = strlen(name), old = strlen(path);

    if (n + 1 + old + 1 > size) /* doesn't fit: keep the end of the path, which is nearest to the field */
        return;
    memmove(path + n + (old > 0), path, old + 1);
    memcpy(path, name, n);
    if (old > 0)
        path[n] = '.';
}

static bool is_for_people(const ProtobufCFieldDescriptor *field)
{
    return field->type == PROTOBUF_C_TYPE_STRING && strcmp(field->name, "diagnostics") == 0;
}

static size_t blank(struct nm_bytes text, uint8_t *copy)
{
    size_t n = 0;

    for (size_t i = 0; i < text.size; i++) {
        n += text.data[i] == '\0';
        if (copy && text.data[i] == '\0')
            copy[i] = ' ';
    }
    return n;
}

size_t nm_fields_blank(const ProtobufCMessageDescriptor *type, struct nm_bytes message, uint8_t *copy)
{
    const uint8_t *start = message.data;
    struct nm_bytes value;
    unsigned number;
    size_t n = 0;

    while (message.size > 0 && take_field(&message, &number, &value)) {
        const ProtobufCFieldDescriptor *field =
            value.size > 0 ? protobuf_c_message_descriptor_get_field(type, number) : NULL;
        uint8_t *at = copy && value.data ? copy + (value.data - start) : NULL;

        if (field && field->type == PROTOBUF_C_TYPE_MESSAGE)
            n += nm_fields_blank(field->descriptor, value, at);
        else if (field && is_for_people(field))
            n += blank(value, at);
    }
    return n;
}

/* Searches nested messages. The recursion has a limited depth, because no message type contains itself (arena.h). */
bool nm_fields_have_nul(const ProtobufCMessageDescriptor *type, struct nm_bytes message, char *ret_path, size_t size)
{
    struct nm_bytes value;
    unsigned number;

    while (message.size > 0 && take_field(&message, &number, &value)) {
        const ProtobufCFieldDescriptor *field =
            value.size > 0 ? protobuf_c_message_descriptor_get_field(type, number) : NULL;
        bool found = false;

        if (field && field->type == PROTOBUF_C_TYPE_STRING && !is_for_people(field)) {
            found = memchr(value.data, '\0', value.size) != NULL;
            if (found)
                *ret_path = '\0';
        } else if (field && field->type == PROTOBUF_C_TYPE_MESSAGE) {
            found = nm_fields_have_nul(field->descriptor, value, ret_path, size);
        }
        if (found) {
            prepend(ret_path, size, field->name);
            return true;
        }
    }
    return false;
}

/* ---- an unpacked one ---------------------------------------------------------------------- */

static void fill_value(const ProtobufCFieldDescriptor *field, void *value)
{
    static uint8_t nothing;

    if (field->type == PROTOBUF_C_TYPE_BYTES) {
        ProtobufCBinaryData *bytes = value;

        if (!bytes->data)
            bytes->data = &nothing;
    } else if (*(ProtobufCMessage **)value) {
        nm_fields_fill_empty(*(ProtobufCMessage **)value);
    }
}

void nm_fields_fill_empty(ProtobufCMessage *message)
{
    const ProtobufCMessageDescriptor *type = message->descriptor;

    for (unsigned i = 0; i < type->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &type->fields[i];
        size_t size = field->type == PROTOBUF_C_TYPE_BYTES ? sizeof(ProtobufCBinaryData) : sizeof(ProtobufCMessage *);
        uint8_t *value = (uint8_t *)message + field->offset;

        if (field->type != PROTOBUF_C_TYPE_BYTES && field->type != PROTOBUF_C_TYPE_MESSAGE)
            continue;
        if (field->label != PROTOBUF_C_LABEL_REPEATED) {
            fill_value(field, value);
            continue;
        }
        for (size_t k = 0; k < *(size_t *)((uint8_t *)message + field->quantifier_offset); k++)
            fill_value(field, *(uint8_t **)value + k * size);
    }
}
