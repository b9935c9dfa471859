/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Writes the files of YARN's log aggregation, from front to back, into a sink. The two formats are those of Hadoop's
 * LogAggregationTFileController and LogAggregationIndexedFileController, without compression. The code does no I/O and
 * reads no clock. Its memory depends on the number of files and on the lengths of their names, not on their contents.
 *
 * After a failure, also one of the sink, every further call returns the same error, because the output has a gap then.
 * ret_message receives the end of a sentence, which the caller frees, or NULL if memory ran out. It may be NULL.
 */

#include <stddef.h>
#include <stdint.h>

#include "util/macros.h"

enum nm_log_format { NM_LOG_TFILE, NM_LOG_INDEXED };

/* Receives the bytes of the file in order, in pieces of any size from one byte to what nm_log_writer_data() got. */
struct nm_log_sink {
    int (*write)(void *userdata, const void *data, size_t n, char **ret_message); /* returns 0 or -errno */
    void *userdata;
};

/* The strings are copied. A string is written with at most 65535 bytes, because Java's UTF has a length of two bytes.
 * Bytes that aren't valid UTF-8 are written as U+FFFD, one for each byte. */
struct nm_log_params {
    enum nm_log_format format;
    const char *application, *owner, *node; /* node: host:port */
    const char *view_acl, *modify_acl;      /* "" or " ": only the owner and administrators */
    /* The remaining parameters are for IndexedFile. */
    uint64_t upload_msec;    /* time of this upload */
    const char *remote_name; /* name of the file in the remote directory, without the directory */
    /* An upload may be appended to the earlier uploads of a file. The file has offset_bytes before (0: it is new), and
     * ends with former_meta, the length of former_meta in four bytes, and NM_LOG_INDEXED_ID_SIZE bytes. former_meta
     * must stay valid until the writer is freed. NULL: readers no longer see the earlier uploads. */
    uint64_t offset_bytes;
    const void *former_meta;
    size_t former_meta_size;
};

#define NM_LOG_INDEXED_ID_SIZE 32 /* the file begins, and each upload ends, with the SHA-256 of the application's id */
#define NM_LOG_INDEXED_TAIL_SIZE 36 /* length of META, big endian, and that id */
#define NM_LOG_INDEXED_META_MAX (16U << 20) /* a larger former META is refused, so that the caller begins a new file */

struct nm_log_writer;

/* Makes a writer, which writes nothing before the first call of another function, and copies *sink.
 * -ENAMETOOLONG: a string is too long. -EBADMSG: former_meta was not written by this code with the same application,
 * owner, node and access lists, or is too large. The caller then begins a new file. -EFBIG: offset_bytes is too large.
 * -EINVAL: the parameters contradict each other. */
int nm_log_writer_new(const struct nm_log_params *p, const struct nm_log_sink *sink, struct nm_log_writer **ret);
struct nm_log_writer *nm_log_writer_free(struct nm_log_writer *w);

/* Begins a container. A container without files is not written. */
int nm_log_writer_container(struct nm_log_writer *w, const char *id, char **ret_message);
/* Begins a file of the present container, with exactly size_bytes bytes, which nm_log_writer_data() writes. -EINVAL: no
 * container has begun, or bytes of the file before are missing. -ENAMETOOLONG: the name is too long. */
int nm_log_writer_file(struct nm_log_writer *w, const char *name, uint64_t size_bytes, uint64_t modified_msec,
                       char **ret_message);
/* Writes bytes of the present file. -EINVAL: the file would have more bytes than announced. */
int nm_log_writer_data(struct nm_log_writer *w, const void *data, size_t n, char **ret_message);
/* Completes the output. -EINVAL: bytes of the last file are missing. */
int nm_log_writer_end(struct nm_log_writer *w, char **ret_message);

NM_DEFINE_CLEANUP(struct nm_log_writer *, nm_log_writer_free)
