/* SPDX-License-Identifier: Apache-2.0 */

/* See local-dirs.h. */

#include "spark/local-dirs.h"

#include <errno.h>

#include "util/macros.h"

#define PREFIX "blockmgr-"

void nm_spark_dir_path(const struct nm_spark_application *application, const struct nm_spark_dir *dir,
                       char ret[static NM_SPARK_PATH_SIZE])
{
    (void)snprintf(ret, NM_SPARK_PATH_SIZE, "usercache/%s/appcache/%s/%s", application->user, application->id,
                   dir->name);
}

/* Removes `end` from the end of `from`. */
static bool take_end(struct nm_bytes *from, struct nm_bytes end)
{
    if (from->size < end.size || memcmp(from->data + from->size - end.size, end.data, end.size) != 0)
        return false;
    from->size -= end.size;
    return true;
}

/* Copies the last name of a path, which must be PREFIX with letters, digits and hyphens. */
static bool copy_name(struct nm_bytes path, char *ret, size_t size)
{
    static const char allowed[] = "0123456789-abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    const uint8_t *slash = memrchr(path.data, '/', path.size);
    const uint8_t *name = slash ? slash + 1 : path.data;
    const size_t length = path.size - (size_t)(name - path.data), prefix = strlen(PREFIX);

    if (length <= prefix || length >= size || memchr(name, '\0', length))
        return false;
    *(char *)mempcpy(ret, name, length) = '\0';
    return strncmp(ret, PREFIX, prefix) == 0 && strspn(ret + prefix, allowed) == length - prefix;
}

/* Compares the name of a local directory without slashes at its end. */
static bool is_named(struct nm_bytes local, const char *name)
{
    struct nm_bytes bytes = nm_bytes_of(name);

    while (bytes.size > 1 && bytes.data[bytes.size - 1] == '/')
        bytes.size--;
    return nm_bytes_equal(local, bytes);
}

/* Returns the number of the local directory, or locals->n. */
static unsigned find_local(const struct nm_spark_local_dirs *locals, struct nm_bytes local)
{
    for (unsigned i = 0; i < locals->n; i++)
        if (is_named(local, locals->names[i]))
            return i;
    for (unsigned i = 0; i < locals->n; i++) {
        _cleanup_free_ char *resolved = realpath(locals->names[i], NULL);

        if (resolved && is_named(local, resolved))
            return i;
    }
    return locals->n;
}

int nm_spark_dir_parse(const struct nm_spark_local_dirs *locals, const struct nm_spark_application *application,
                       struct nm_bytes path, struct nm_spark_dir *ret)
{
    struct nm_spark_dir dir = {};
    char end[NM_SPARK_PATH_SIZE];
    unsigned i;

    if (path.size == 0 || !copy_name(path, dir.name, sizeof dir.name))
        return -EINVAL;
    nm_spark_dir_path(application, &dir, end);
    if (!take_end(&path, nm_bytes_of(end)) || !take_end(&path, nm_bytes_of("/")) ||
        (i = find_local(locals, path)) == locals->n)
        return -EINVAL;
    dir.local = (uint8_t)i;
    *ret = dir;
    return 0;
}
