/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Writes a file of aggregated logs:
 *
 *   log-format FORMAT OUT APPLICATION OWNER NODE UPLOAD-MSEC VIEW-ACL [CONTAINER NAME PATH]...
 *
 * FORMAT is tfile or indexed. Each CONTAINER has a log NAME with the contents of the file PATH. If OUT is already an
 * IndexedFile, an upload is appended to it.
 */

#include <endian.h>
#include <errno.h>
#include <sys/stat.h>

#include "aggregate/format/log-writer.h"
#include "util/error.h"

static int write_all(void *userdata, const void *data, size_t n, char **ret_message)
{
    (void)ret_message;
    return fwrite(data, 1, n, userdata) == n ? 0 : -EIO;
}

/* Reads the last META of OUT, and sets the parameters for an upload that is appended. */
static int find_former(FILE *out, struct nm_log_params *p, char **ret_meta)
{
    uint8_t tail[NM_LOG_INDEXED_TAIL_SIZE];
    uint32_t size;
    long end;

    if (fseek(out, 0, SEEK_END) < 0 || (end = ftell(out)) < 0)
        return -errno;
    if (end == 0 || p->format == NM_LOG_TFILE)
        return 0;
    if (end < (long)sizeof tail || fseek(out, end - (long)sizeof tail, SEEK_SET) < 0 ||
        fread(tail, sizeof tail, 1, out) != 1)
        return -EBADMSG;
    memcpy(&size, tail, sizeof size);
    size = be32toh(size);
    if (size > NM_LOG_INDEXED_META_MAX || size > (unsigned long)end - sizeof tail)
        return -EBADMSG;
    *ret_meta = malloc(size + 1);
    if (!*ret_meta || fseek(out, end - (long)sizeof tail - (long)size, SEEK_SET) < 0 ||
        fread(*ret_meta, 1, size, out) != size || fseek(out, 0, SEEK_END) < 0)
        return -EBADMSG;
    p->offset_bytes = (uint64_t)end;
    p->former_meta = *ret_meta;
    p->former_meta_size = size;
    return 0;
}

static int write_log(struct nm_log_writer *w, char **argument, char **ret_message)
{
    _cleanup_fclose_ FILE *f = fopen(argument[2], "re");
    char data[10007]; /* pieces that are not aligned with the chunks of a TFile */
    struct stat st;
    size_t n;
    int r;

    if (!f || fstat(fileno(f), &st) < 0)
        return -errno;
    r = nm_log_writer_container(w, argument[0], ret_message);
    if (r == 0)
        r = nm_log_writer_file(w, argument[1], (uint64_t)st.st_size, (uint64_t)st.st_mtime * 1000, ret_message);
    while (r == 0 && (n = fread(data, 1, sizeof data, f)) > 0)
        r = nm_log_writer_data(w, data, n, ret_message);
    return r;
}

static int write_logs(FILE *out, struct nm_log_params *p, char **arguments, char **ret_message)
{
    _cleanup_(nm_log_writer_freep) struct nm_log_writer *w = NULL;
    struct nm_log_sink sink = {write_all, out};
    _cleanup_free_ char *meta = NULL;
    int r = find_former(out, p, &meta);

    if (r == 0)
        r = nm_log_writer_new(p, &sink, &w);
    for (; r == 0 && arguments[0]; arguments += 3)
        r = write_log(w, arguments, ret_message);
    if (r == 0)
        r = nm_log_writer_end(w, ret_message);
    return r;
}

int main(int argc, char **argv)
{
    struct nm_log_params p = {.modify_acl = ""};
    _cleanup_fclose_ FILE *out = NULL;
    _cleanup_free_ char *message = NULL;
    int r;

    if (argc < 8 || (argc - 8) % 3 != 0)
        return 2;
    p.format = nm_streq(argv[1], "tfile") ? NM_LOG_TFILE : NM_LOG_INDEXED;
    p.application = argv[3];
    p.owner = argv[4];
    p.node = argv[5];
    p.upload_msec = strtoull(argv[6], NULL, 10);
    p.view_acl = argv[7];
    p.remote_name = basename(argv[2]);
    out = fopen(argv[2], "a+e");
    r = out ? write_logs(out, &p, argv + 8, &message) : -errno;
    if (r == 0 && fflush(out) != 0)
        r = -errno;
    if (r < 0)
        nm_diag("%s: %s", argv[2], message ? message : strerror(-r));
    return r < 0;
}
