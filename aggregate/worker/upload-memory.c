/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See upload-memory.h. The text has one line for the upload, a line for each container, and below it a line for each of
 * its files. The last line shows that the text is whole, because a crash of the host may leave a part of a file.
 */

#include "aggregate/worker/upload-memory.h"

#include <inttypes.h>
#include <sys/stat.h>

#include "util/array.h"
#include "util/error.h"
#include "util/fileio.h"
#include "util/fnv1a.h"
#include "util/parse.h"

#define MAX_FILE_BYTES (16U << 20)
#define MAX_WORD 512U
#define FIRST_LINE "nmd-uploaded 1"
#define SAMPLE_BYTES 4096U /* read at each end for a fingerprint: a page, so log lines with a time are distinguished */

void nm_upload_memory_done(struct nm_upload_memory *memory)
{
    for (size_t i = 0; i < memory->n_containers; i++)
        free(memory->containers[i]);
    free(memory->containers);
    free(memory->entries);
    free(memory->remote_name);
    *memory = (struct nm_upload_memory){0};
}

int nm_upload_memory_set_upload(struct nm_upload_memory *memory, uint64_t upload_msec, const char *remote_name,
                                uint64_t remote_bytes, uint64_t log_bytes, uint64_t n_files)
{
    char *name = strdup(remote_name);

    if (!name)
        return -ENOMEM;
    free(memory->remote_name);
    memory->remote_name = name;
    memory->upload_msec = upload_msec;
    memory->remote_bytes = remote_bytes;
    memory->log_bytes = log_bytes;
    memory->n_files = n_files;
    return 0;
}

/* Returns the memory's copy of a container's id. Entries are added container by container. */
static const char *own_container(struct nm_upload_memory *memory, const char *container)
{
    char *copy;

    if (memory->n_containers > 0 && nm_streq(memory->containers[memory->n_containers - 1], container))
        return memory->containers[memory->n_containers - 1];
    if (NM_ARRAY_ROOM(memory->containers, memory->n_containers, memory->containers_size) < 0)
        return NULL;
    copy = strdup(container);
    if (copy)
        memory->containers[memory->n_containers++] = copy;
    return copy;
}

int nm_upload_memory_add(struct nm_upload_memory *memory, const char *container, uint64_t inode, uint64_t bytes,
                         uint64_t fingerprint)
{
    const char *own;

    if (memory->n >= NM_UPLOAD_MEMORY_MAX_ENTRIES)
        return -E2BIG;
    own = own_container(memory, container);
    if (!own || NM_ARRAY_ROOM(memory->entries, memory->n, memory->size) < 0)
        return -ENOMEM;
    memory->entries[memory->n++] =
        (struct nm_upload_entry){.container = own, .inode = inode, .bytes = bytes, .fingerprint = fingerprint};
    return 0;
}

static int compare_inodes(const void *a, const void *b)
{
    const struct nm_upload_entry *x = a, *y = b;

    return x->inode < y->inode ? -1 : x->inode > y->inode;
}

void nm_upload_memory_sort(struct nm_upload_memory *memory)
{
    if (memory->n > 1)
        qsort(memory->entries, memory->n, sizeof *memory->entries, compare_inodes);
}

size_t nm_upload_memory_search(const struct nm_upload_memory *memory, uint64_t inode)
{
    size_t low = 0, high = memory->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (memory->entries[middle].inode < inode)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Reads `n` numbers and the word after them, which ends the line. */
static int read_line(const char *line, uint64_t *numbers, size_t n, char word[static MAX_WORD])
{
    size_t length;

    for (size_t i = 0; i < n; i++)
        if (nm_parse_digits(&line, &numbers[i]) < 0 || *line++ != ' ')
            return -EBADMSG;
    length = strlen(line);
    if (length == 0 || length >= MAX_WORD || strchr(line, ' ') || strchr(line, '/'))
        return -EBADMSG;
    memcpy(word, line, length + 1);
    return 0;
}

struct reader {
    struct nm_upload_memory memory;
    char container[MAX_WORD];
    bool is_whole;
};

static int read_file(struct reader *r, const char *line)
{
    uint64_t numbers[3];

    if (!*r->container || nm_parse_numbers(line, numbers, 3) != 3)
        return -EBADMSG;
    return nm_upload_memory_add(&r->memory, r->container, numbers[0], numbers[1], numbers[2]);
}

static int read_upload(struct reader *r, const char *line)
{
    char name[MAX_WORD];
    uint64_t numbers[4];

    if (r->memory.remote_name || read_line(line, numbers, 4, name) < 0)
        return -EBADMSG;
    return nm_upload_memory_set_upload(&r->memory, numbers[0], name, numbers[1], numbers[2], numbers[3]);
}

static int read_any(struct reader *r, const char *line)
{
    if (r->is_whole)
        return -EBADMSG;
    if (strncmp(line, "file ", 5) == 0)
        return read_file(r, line + 5);
    if (strncmp(line, "container ", 10) == 0)
        return read_line(line + 10, NULL, 0, r->container);
    if (strncmp(line, "upload ", 7) == 0)
        return read_upload(r, line + 7);
    r->is_whole = nm_streq(line, "end");
    return r->is_whole ? 0 : -EBADMSG;
}

int nm_upload_memory_parse(const char *text, size_t size, struct nm_upload_memory *ret)
{
    _cleanup_free_ char *copy = NULL;
    struct reader reader = {0};
    char *rest, *line;
    int r;

    if (memchr(text, '\0', size) || size > MAX_FILE_BYTES)
        return -EBADMSG;
    rest = copy = strndup(text, size);
    if (!copy)
        return -ENOMEM;
    line = strsep(&rest, "\n");
    r = nm_streq(line, FIRST_LINE) ? 0 : -EBADMSG;
    while (r >= 0 && (line = strsep(&rest, "\n")) && (*line || rest))
        r = read_any(&reader, line);
    if (r >= 0 && (!reader.is_whole || !reader.memory.remote_name))
        r = -EBADMSG;
    if (r < 0) {
        nm_upload_memory_done(&reader.memory);
        return r == -ENOMEM ? r : -EBADMSG;
    }
    nm_upload_memory_sort(&reader.memory);
    *ret = reader.memory;
    return 0;
}

int nm_upload_memory_print(const struct nm_upload_memory *memory, char **ret, size_t *ret_size)
{
    _cleanup_free_ char *text = NULL;
    const char *container = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return -ENOMEM;
    (void)fprintf(out, FIRST_LINE "\nupload %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n", memory->upload_msec,
                  memory->remote_bytes, memory->log_bytes, memory->n_files, memory->remote_name);
    for (size_t i = 0; i < memory->n; i++) {
        const struct nm_upload_entry *e = &memory->entries[i];

        if (!container || !nm_streq(container, e->container))
            (void)fprintf(out, "container %s\n", e->container);
        container = e->container;
        (void)fprintf(out, "file %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", e->inode, e->bytes, e->fingerprint);
    }
    (void)fputs("end\n", out);
    if (fclose(out) != 0)
        return -ENOMEM;
    *ret = STEAL_PTR(text);
    *ret_size = size;
    return 0;
}

/* ---- files ----------------------------------------------------------------------------------- */

int nm_upload_memory_load(int dir_fd, const char *name, struct nm_upload_memory *ret)
{
    _cleanup_free_ uint8_t *text = NULL;
    size_t size = 0;
    int r = nm_read_regular_at(dir_fd, name, MAX_FILE_BYTES, &text, &size);

    return r < 0 ? r : nm_upload_memory_parse((const char *)text, size, ret);
}

/* The new text goes to a file with another name first, so that the old text stays whole if the disk is full. The
 * directory is synced, because the remote file gets its name next: if a crash of the host removed this file, the logs
 * would be uploaded again. */
int nm_upload_memory_save(int dir_fd, const char *name, const struct nm_upload_memory *memory)
{
    _cleanup_close_ int fd = -EBADF;
    _cleanup_free_ char *text = NULL;
    char temporary[64];
    size_t size = 0;
    int r = nm_upload_memory_print(memory, &text, &size);

    if (r < 0)
        return r;
    (void)snprintf(temporary, sizeof temporary, "%s.tmp", name);
    if (unlinkat(dir_fd, temporary, 0) < 0 && errno != ENOENT)
        return -errno;
    fd = openat(dir_fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    r = nm_write_all(fd, text, size);
    if (r >= 0)
        r = RET_NERRNO(fdatasync(fd));
    if (r >= 0)
        r = RET_NERRNO(renameat(dir_fd, temporary, dir_fd, name));
    if (r < 0) {
        (void)unlinkat(dir_fd, temporary, 0);
        return r;
    }
    /* some file systems can't sync a directory */
    return fsync(dir_fd) < 0 && !nm_error_is_not_supported(errno) ? -errno : 0;
}

static int add_sample(int fd, uint64_t offset, size_t n, uint64_t *hash)
{
    char buf[SAMPLE_BYTES];

    for (size_t done = 0; done < n;) {
        ssize_t got = pread(fd, buf, n - done, (off_t)(offset + done));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            break;
        *hash = nm_fnv1a_64_more(*hash, buf, (size_t)got);
        done += (size_t)got;
    }
    return 0;
}

int nm_upload_fingerprint(int fd, uint64_t bytes, uint64_t *ret)
{
    const size_t n = (size_t)NM_MIN(bytes, (uint64_t)SAMPLE_BYTES);
    uint64_t hash = nm_fnv1a_64_more(NM_FNV1A_64_BASIS, &bytes, sizeof bytes);
    int r = add_sample(fd, 0, n, &hash);

    if (r >= 0)
        r = add_sample(fd, bytes - n, n, &hash);
    if (r >= 0)
        *ret = hash;
    return r;
}
