/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Java's object serialization, version 5 ("Java Object Serialization Specification", chapter 6), for the few classes
 * that a caller describes.
 *
 * Each class, string, object and constant of an enum has a number, its handle, in the order in which it first occurs.
 * A class is described where it first occurs. Later occurrences refer to the handle, so that the size of an object is
 * that of its values. Strings are always written in full.
 */

#include <stdbool.h>

#include "aggregate/format/log-buffer.h"

/* flags of a class */
#define NM_JAVA_SERIALIZABLE 2
#define NM_JAVA_WRITES 3 /* the class also writes data of its own after its fields */
#define NM_JAVA_ENUM 0x12 /* the flag of enums, and NM_JAVA_SERIALIZABLE */

struct nm_java_field {
    char type;         /* I, J, F: int, long, float; L: an object */
    const char *name;
    const char *class; /* for L: Ljava/lang/String; */
};

/* The fields are in the order of a stream: numbers first, then objects, each sorted by name. */
struct nm_java_class {
    const char *name;
    uint64_t uid;
    uint8_t flags;
    const struct nm_java_class *super;
    struct nm_java_field fields[7]; /* ends with a field without a name */
};

#define NM_JAVA_CLASSES 8 /* most different classes of a stream */

/* A stream starts zeroed, and ends with nm_log_buffer_done(&s->out). */
struct nm_java_stream {
    struct nm_log_buffer out;
    uint32_t n_handles;
    struct {
        const struct nm_java_class *class;
        uint32_t handle;
    } known[NM_JAVA_CLASSES];
    unsigned n_known;
};

void nm_java_stream_begin(struct nm_java_stream *s);
/* Begins an object. The caller writes the values of its fields next. */
void nm_java_stream_object(struct nm_java_stream *s, const struct nm_java_class *class);
void nm_java_stream_constant(struct nm_java_stream *s, const struct nm_java_class *class, const char *name);
void nm_java_stream_text(struct nm_java_stream *s, const char *text);
/* Begins a HashMap of n keys and values in turn, or an ArrayList of n objects. Both end with nm_java_stream_end(). */
void nm_java_stream_map(struct nm_java_stream *s, uint32_t n);
void nm_java_stream_list(struct nm_java_stream *s, uint32_t n);
void nm_java_stream_end(struct nm_java_stream *s);

/*
 * Reads a stream that this code has written, and nothing else: each function compares the next bytes with the bytes
 * that its counterpart above would write, except for the values. So a reader needs no table of objects, and what it
 * accepts can be continued: after the last object, `as` is in the state in which the writer was.
 *
 * A function returns false if the bytes differ. The reader must not be used further then.
 */
struct nm_java_reader {
    const uint8_t *data;
    size_t size, at;
    struct nm_java_stream as; /* its `out` has the bytes for the comparison; the caller ends it */
};

/* Compares the next bytes with those that the caller has written to r->as, and removes them there. */
bool nm_java_reader_same(struct nm_java_reader *r);
bool nm_java_reader_object(struct nm_java_reader *r, const struct nm_java_class *class);
bool nm_java_reader_number(struct nm_java_reader *r, unsigned n, uint64_t *ret); /* n bytes, big endian */
bool nm_java_reader_text(struct nm_java_reader *r);                              /* any text */
bool nm_java_reader_map(struct nm_java_reader *r, uint32_t *ret_n);
bool nm_java_reader_list(struct nm_java_reader *r, uint32_t *ret_n);
bool nm_java_reader_end(struct nm_java_reader *r);
