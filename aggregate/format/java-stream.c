/* SPDX-License-Identifier: Apache-2.0 */

/* See java-stream.h. The names of the bytes are those of java.io.ObjectStreamConstants. */

#include "aggregate/format/java-stream.h"

#include <assert.h>
#include <string.h>

#define STREAM_MAGIC 0xaced0005U /* with the version */
#define TC_NULL 0x70
#define TC_REFERENCE 0x71
#define TC_CLASSDESC 0x72
#define TC_OBJECT 0x73
#define TC_STRING 0x74
#define TC_BLOCKDATA 0x77
#define TC_ENDBLOCKDATA 0x78
#define TC_ENUM 0x7e
#define FIRST_HANDLE 0x7e0000U

#define LOAD_FACTOR 0x3f400000U /* 0.75 as a float, HashMap's default */

static const struct nm_java_class hash_map = {
    "java.util.HashMap", UINT64_C(0x0507dac1c31660d1), NM_JAVA_WRITES, NULL,
    {{'F', "loadFactor", NULL}, {'I', "threshold", NULL}}};
static const struct nm_java_class array_list = {
    "java.util.ArrayList", UINT64_C(0x7881d21d99c7619d), NM_JAVA_WRITES, NULL, {{'I', "size", NULL}}};

/* ---- the writer -------------------------------------------------------------------------------- */

static void put_byte(struct nm_java_stream *s, uint8_t byte)
{
    nm_log_buffer_put(&s->out, &byte, 1);
}

void nm_java_stream_begin(struct nm_java_stream *s)
{
    nm_log_buffer_number(&s->out, STREAM_MAGIC, 4);
}

void nm_java_stream_text(struct nm_java_stream *s, const char *text)
{
    put_byte(s, TC_STRING);
    nm_log_buffer_utf(&s->out, text);
    s->n_handles++;
}

/* A stream has few classes, so a linear search does. */
static const uint32_t *handle_of(const struct nm_java_stream *s, const struct nm_java_class *class)
{
    for (unsigned i = 0; i < s->n_known; i++)
        if (s->known[i].class == class)
            return &s->known[i].handle;
    return NULL;
}

/* Writes the name, the flags and the fields of a class. Its handle precedes those of the fields' types. */
static void describe(struct nm_java_stream *s, const struct nm_java_class *class)
{
    unsigned n = 0;

    put_byte(s, TC_CLASSDESC);
    nm_log_buffer_utf(&s->out, class->name);
    nm_log_buffer_number(&s->out, class->uid, 8);
    assert(s->n_known < NM_JAVA_CLASSES);
    s->known[s->n_known].class = class;
    s->known[s->n_known++].handle = s->n_handles++;
    put_byte(s, class->flags);
    while (class->fields[n].name)
        n++;
    nm_log_buffer_number(&s->out, n, 2);
    for (unsigned i = 0; i < n; i++) {
        put_byte(s, (uint8_t)class->fields[i].type);
        nm_log_buffer_utf(&s->out, class->fields[i].name);
        if (class->fields[i].type == 'L')
            nm_java_stream_text(s, class->fields[i].class);
    }
    put_byte(s, TC_ENDBLOCKDATA);
}

/* Writes the class and its super classes, up to the first one that the stream already has. */
static void put_class(struct nm_java_stream *s, const struct nm_java_class *class)
{
    const uint32_t *handle = NULL;

    for (; class && !(handle = handle_of(s, class)); class = class->super)
        describe(s, class);
    put_byte(s, handle ? TC_REFERENCE : TC_NULL);
    if (handle)
        nm_log_buffer_number(&s->out, FIRST_HANDLE + *handle, 4);
}

void nm_java_stream_object(struct nm_java_stream *s, const struct nm_java_class *class)
{
    put_byte(s, TC_OBJECT);
    put_class(s, class);
    s->n_handles++;
}

void nm_java_stream_constant(struct nm_java_stream *s, const struct nm_java_class *class, const char *name)
{
    put_byte(s, TC_ENUM);
    put_class(s, class);
    s->n_handles++;
    nm_java_stream_text(s, name);
}

/* Java ignores the capacity, but limits what it allocates for it. The number is the one that Java would write. */
void nm_java_stream_map(struct nm_java_stream *s, uint32_t n)
{
    uint32_t capacity = 16;

    while (capacity / 4 * 3 < n && capacity < 1U << 30)
        capacity *= 2;
    nm_java_stream_object(s, &hash_map);
    nm_log_buffer_number(&s->out, LOAD_FACTOR, 4);
    nm_log_buffer_number(&s->out, capacity / 4 * 3, 4);
    put_byte(s, TC_BLOCKDATA);
    nm_log_buffer_number(&s->out, 8, 1);
    nm_log_buffer_number(&s->out, capacity, 4);
    nm_log_buffer_number(&s->out, n, 4);
}

void nm_java_stream_list(struct nm_java_stream *s, uint32_t n)
{
    nm_java_stream_object(s, &array_list);
    nm_log_buffer_number(&s->out, n, 4);
    put_byte(s, TC_BLOCKDATA);
    nm_log_buffer_number(&s->out, 4, 1);
    nm_log_buffer_number(&s->out, n, 4);
}

void nm_java_stream_end(struct nm_java_stream *s)
{
    put_byte(s, TC_ENDBLOCKDATA);
}

/* ---- the reader -------------------------------------------------------------------------------- */

static size_t left(const struct nm_java_reader *r)
{
    return r->size - r->at;
}

bool nm_java_reader_same(struct nm_java_reader *r)
{
    struct nm_log_buffer *expected = &r->as.out;
    size_t n = expected->size;

    if (expected->error < 0 || n > left(r) || memcmp(r->data + r->at, expected->data, n) != 0)
        return false;
    expected->size = 0;
    r->at += n;
    return true;
}

bool nm_java_reader_object(struct nm_java_reader *r, const struct nm_java_class *class)
{
    nm_java_stream_object(&r->as, class);
    return nm_java_reader_same(r);
}

bool nm_java_reader_number(struct nm_java_reader *r, unsigned n, uint64_t *ret)
{
    uint64_t value = 0;

    if (n > left(r))
        return false;
    for (unsigned i = 0; i < n; i++)
        value = value << 8 | r->data[r->at++];
    *ret = value;
    return true;
}

bool nm_java_reader_text(struct nm_java_reader *r)
{
    uint64_t size;

    put_byte(&r->as, TC_STRING);
    if (!nm_java_reader_same(r) || !nm_java_reader_number(r, 2, &size) || size > left(r))
        return false;
    r->at += size;
    r->as.n_handles++;
    return true;
}

/* Reads a number of elements that is some bytes ahead. */
static bool ahead(const struct nm_java_reader *r, size_t distance, uint32_t *ret)
{
    struct nm_java_reader copy = {.data = r->data, .size = r->size, .at = r->at};
    uint64_t value;

    if (distance > left(r))
        return false;
    copy.at += distance;
    if (!nm_java_reader_number(&copy, 4, &value) || value > INT32_MAX)
        return false;
    *ret = (uint32_t)value;
    return true;
}

/* Reads a map or a list, whose number of elements is in the last four bytes that `write` writes. */
static bool read_collection(struct nm_java_reader *r, void (*write)(struct nm_java_stream *, uint32_t), uint32_t *ret_n)
{
    struct nm_java_stream before = r->as;
    uint32_t n;

    write(&r->as, 0); /* only for the size, which doesn't depend on the number */
    if (r->as.out.error < 0 || !ahead(r, r->as.out.size - 4, &n))
        return false;
    before.out = r->as.out;
    before.out.size = 0;
    r->as = before;
    write(&r->as, n);
    if (!nm_java_reader_same(r))
        return false;
    *ret_n = n;
    return true;
}

bool nm_java_reader_map(struct nm_java_reader *r, uint32_t *ret_n)
{
    return read_collection(r, nm_java_stream_map, ret_n);
}

bool nm_java_reader_list(struct nm_java_reader *r, uint32_t *ret_n)
{
    return read_collection(r, nm_java_stream_list, ret_n);
}

bool nm_java_reader_end(struct nm_java_reader *r)
{
    nm_java_stream_end(&r->as);
    return nm_java_reader_same(r);
}
