/* SPDX-License-Identifier: Apache-2.0 */

/* See registration-file.h. */

#include "spark/registration-file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "spark/primitive.h"
#include "util/error.h"
#include "util/macros.h"

static int write_record(int fd, struct nm_bytes message)
{
    struct nm_writer w = {};
    struct nm_bytes bytes;
    ssize_t n;
    int r;

    nm_spark_put_text(&w, message);
    r = nm_writer_result(&w, &bytes);
    if (r == 0) {
        n = write(fd, bytes.data, bytes.size);
        r = n < 0 ? -errno : (size_t)n < bytes.size ? -ENOSPC : 0;
    }
    nm_writer_done(&w);
    return r;
}

int nm_spark_registration_append(int dir, const char *name, struct nm_bytes message, uint64_t max_bytes)
{
    _cleanup_close_ int fd =
        RET_NERRNO(openat(dir, name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    struct stat st;
    int r;

    if (fd < 0)
        return fd;
    if (fstat(fd, &st) < 0)
        return -errno;
    if ((uint64_t)st.st_size + sizeof(int32_t) + message.size > max_bytes)
        return -EFBIG;
    r = write_record(fd, message);
    if (r < 0)
        (void)!ftruncate(fd, st.st_size); /* later registrations would follow an incomplete one */
    return r;
}

/* Reads the whole file. */
static int read_all(int fd, uint64_t max_bytes, uint8_t **ret, size_t *ret_size)
{
    _cleanup_free_ uint8_t *data = NULL;
    struct stat st;
    size_t size = 0;
    ssize_t n = 1;

    if (fstat(fd, &st) < 0)
        return -errno;
    if ((uint64_t)st.st_size > max_bytes)
        return -EFBIG;
    data = malloc((size_t)st.st_size + 1);
    if (!data)
        return -ENOMEM;
    for (; size < (size_t)st.st_size && n > 0; size += (size_t)NM_MAX(n, 0))
        n = read(fd, data + size, (size_t)st.st_size - size);
    if (n < 0)
        return -errno;
    *ret = STEAL_PTR(data);
    *ret_size = size;
    return 0;
}

int nm_spark_registration_read(int dir, const char *name, uint64_t max_bytes,
                               void (*found)(struct nm_bytes message, void *userdata), void *userdata)
{
    _cleanup_close_ int fd = RET_NERRNO(openat(dir, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW));
    _cleanup_free_ uint8_t *data = NULL;
    struct nm_bytes rest = {}, message;
    size_t size = 0;
    int r;

    if (fd < 0)
        return fd == -ENOENT ? 0 : fd;
    if ((r = read_all(fd, max_bytes, &data, &size)) < 0)
        return r;
    rest = (struct nm_bytes){data, size};
    while (nm_spark_take_text(&rest, &message) == 0)
        found(message, userdata);
    return rest.size > 0 ? RET_NERRNO(ftruncate(fd, (off_t)(size - rest.size))) : 0;
}

void nm_spark_registration_remove(int dir, const char *name)
{
    (void)unlinkat(dir, name, 0);
}
