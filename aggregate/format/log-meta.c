/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See log-meta.h. The classes are those of Hadoop 3.3 to 3.5, LogAggregationIndexedFileController.
 *
 * A META with one more upload begins with the bytes of the former one, up to the end of its list, except for the length
 * of the list. The handles of Java's serialization are counted from the front, so they stay valid. The former META is
 * read completely before it is continued, because an unreadable META hides all logs of the file.
 */

#include "aggregate/format/log-meta.h"

#include <errno.h>

#include "aggregate/format/java-stream.h"
#include "util/macros.h"

#define PREFIX "org.apache.hadoop.yarn.logaggregation.filecontroller.ifile.LogAggregationIndexedFileController$"
#define TYPE_TEXT "Ljava/lang/String;"
#define TYPE_MAP "Ljava/util/Map;"
#define TYPE_LIST "Ljava/util/List;"
#define VERSION 1

static const struct nm_java_class file_class = {
    PREFIX "IndexedFileLogMeta", 1, NM_JAVA_SERIALIZABLE, NULL,
    {{'J', "fileCompressedSize", NULL}, {'J', "fileSize", NULL}, {'J', "lastModifiedTime", NULL},
     {'J', "startIndex", NULL}, {'L', "containerId", TYPE_TEXT}, {'L', "fileName", TYPE_TEXT}}};
static const struct nm_java_class upload_class = {
    PREFIX "IndexedPerAggregationLogMeta", 3929298383, NM_JAVA_SERIALIZABLE, NULL,
    {{'J', "uploadTimeStamp", NULL}, {'L', "logMetas", TYPE_MAP}, {'L', "remoteNodeLogFileName", TYPE_TEXT}}};
static const struct nm_java_class meta_class = {
    PREFIX "IndexedLogsMeta", 5439875373, NM_JAVA_SERIALIZABLE, NULL,
    {{'I', "version", NULL}, {'L', "acls", TYPE_MAP}, {'L', "compressName", TYPE_TEXT},
     {'L', "logMetas", TYPE_LIST}, {'L', "nodeId", TYPE_TEXT}, {'L', "user", TYPE_TEXT}}};
static const struct nm_java_class enum_class = {"java.lang.Enum", 0, NM_JAVA_ENUM, NULL, {}};
static const struct nm_java_class access_class = {
    "org.apache.hadoop.yarn.api.records.ApplicationAccessType", 0, NM_JAVA_ENUM, &enum_class, {}};

/* Writes what precedes the list of uploads. */
static void put_head(struct nm_java_stream *s, const struct nm_log_meta *meta)
{
    nm_java_stream_begin(s);
    nm_java_stream_object(s, &meta_class);
    nm_log_buffer_number(&s->out, VERSION, 4);
    nm_java_stream_map(s, 2);
    nm_java_stream_constant(s, &access_class, "VIEW_APP");
    nm_java_stream_text(s, meta->view_acl);
    nm_java_stream_constant(s, &access_class, "MODIFY_APP");
    nm_java_stream_text(s, meta->modify_acl);
    nm_java_stream_end(s);
    nm_java_stream_text(s, "none"); /* META says by which method the logs are compressed */
}

static void put_tail(struct nm_java_stream *s, const struct nm_log_meta *meta)
{
    nm_java_stream_end(s);
    nm_java_stream_text(s, meta->node);
    nm_java_stream_text(s, meta->owner);
}

/* ---- an earlier META --------------------------------------------------------------------------- */

/* The functions read what the functions put_... with the same names write. */
static bool read_file(struct nm_java_reader *r)
{
    uint64_t number;

    if (!nm_java_reader_object(r, &file_class))
        return false;
    for (unsigned i = 0; i < 4; i++)
        if (!nm_java_reader_number(r, 8, &number))
            return false;
    return nm_java_reader_text(r) && nm_java_reader_text(r);
}

static bool read_container(struct nm_java_reader *r)
{
    uint32_t n;

    if (!nm_java_reader_text(r) || !nm_java_reader_list(r, &n))
        return false;
    while (n > 0 && read_file(r))
        n--;
    return n == 0 && nm_java_reader_end(r);
}

static bool read_upload(struct nm_java_reader *r)
{
    uint64_t upload_msec;
    uint32_t n;

    if (!nm_java_reader_object(r, &upload_class) || !nm_java_reader_number(r, 8, &upload_msec) ||
        !nm_java_reader_map(r, &n))
        return false;
    while (n > 0 && read_container(r))
        n--;
    return n == 0 && nm_java_reader_end(r) && nm_java_reader_text(r);
}

/* The place in an earlier META where another upload is added. */
struct place {
    struct nm_java_stream stream; /* its state there, without bytes */
    size_t list, end;             /* the first byte of the list's elements, and the one after the last */
    uint32_t n;
};

static bool read_meta(struct nm_java_reader *r, const struct nm_log_meta *meta, struct place *ret)
{
    uint32_t left;

    put_head(&r->as, meta);
    if (!nm_java_reader_same(r) || !nm_java_reader_list(r, &ret->n) || ret->n == INT32_MAX)
        return false;
    ret->list = r->at;
    left = ret->n;
    while (left > 0 && read_upload(r))
        left--;
    ret->end = r->at;
    ret->stream = r->as;
    ret->stream.out = (struct nm_log_buffer){};
    put_tail(&r->as, meta);
    return left == 0 && nm_java_reader_same(r) && r->at == r->size;
}

static int find_place(const struct nm_log_meta *meta, struct nm_log_meta_former former, struct place *ret)
{
    struct nm_java_reader r = {.data = former.data, .size = former.size};
    struct place found = {};
    bool valid = read_meta(&r, meta, &found);
    int error = r.as.out.error;

    nm_log_buffer_done(&r.as.out);
    if (error < 0)
        return error;
    if (!valid)
        return -EBADMSG;
    *ret = found;
    return 0;
}

int nm_log_meta_check(const struct nm_log_meta *meta, struct nm_log_meta_former former)
{
    struct place place;

    return find_place(meta, former, &place);
}

/* ---- a new META -------------------------------------------------------------------------------- */

/* A log has two sizes because other writers compress logs. Readers seek to start_bytes, so it counts from the start of
 * the whole file, and not from the start of the upload. */
static void put_file(struct nm_java_stream *s, const struct nm_log_meta_file *f)
{
    nm_java_stream_object(s, &file_class);
    nm_log_buffer_number(&s->out, f->size_bytes, 8);
    nm_log_buffer_number(&s->out, f->size_bytes, 8);
    nm_log_buffer_number(&s->out, f->modified_msec, 8);
    nm_log_buffer_number(&s->out, f->start_bytes, 8);
    nm_java_stream_text(s, f->container);
    nm_java_stream_text(s, f->name);
}

/* Returns the number of files, from the first one on, that belong to the same container. */
static size_t of_container(const struct nm_log_meta_file *files, size_t n)
{
    size_t same = 1;

    while (same < n && nm_streq(files[same].container, files->container))
        same++;
    return same;
}

/* A map has its size before its elements. */
static uint32_t count_containers(const struct nm_log_meta_upload *u)
{
    uint32_t n = 0;

    for (size_t i = 0; i < u->n; i += of_container(u->files + i, u->n - i))
        n++;
    return n;
}

static void put_upload(struct nm_java_stream *s, const struct nm_log_meta_upload *u)
{
    size_t n;

    nm_java_stream_object(s, &upload_class);
    nm_log_buffer_number(&s->out, u->upload_msec, 8);
    nm_java_stream_map(s, count_containers(u));
    for (size_t i = 0; i < u->n; i += n) {
        n = of_container(u->files + i, u->n - i);
        nm_java_stream_text(s, u->files[i].container);
        nm_java_stream_list(s, (uint32_t)n);
        for (size_t j = 0; j < n; j++)
            put_file(s, &u->files[i + j]);
        nm_java_stream_end(s);
    }
    nm_java_stream_end(s);
    nm_java_stream_text(s, u->remote_name);
}

/* Copies the elements of the former list. The stream is then in the state after them. */
static void put_former(struct nm_java_stream *s, struct nm_log_meta_former former, const struct place *place)
{
    struct nm_log_buffer out = s->out;

    nm_log_buffer_put(&out, (const uint8_t *)former.data + place->list, place->end - place->list);
    *s = place->stream;
    s->out = out;
}

int nm_log_meta_write(const struct nm_log_meta *meta, struct nm_log_meta_former former,
                      const struct nm_log_meta_upload *upload, struct nm_log_buffer *ret)
{
    struct nm_java_stream s = {};
    struct place place = {};
    int r = former.data ? find_place(meta, former, &place) : 0;

    if (r < 0)
        return r;
    put_head(&s, meta);
    nm_java_stream_list(&s, place.n + 1);
    if (former.data)
        put_former(&s, former, &place);
    put_upload(&s, upload);
    put_tail(&s, meta);
    r = s.out.error;
    if (r < 0)
        nm_log_buffer_done(&s.out);
    else
        *ret = s.out;
    return r;
}
