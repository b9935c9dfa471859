/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See container-snapshot.h. The file is replaced atomically (written under another name, then renamed): a reader sees
 * either the old or the new file. The reader first checks size, format, boot and id of the file, because the disk may
 * have been full or damaged.
 */

#include "agent/store/container-snapshot.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "agent/store/store-json.h"
#include "util/fileio.h"
#include "util/json-text.h"

#define FORMAT 1
#define MAX_BYTES                                                                                  \
    (8 << 20) /* command and environment have up to 512 KiB, and JSON may need six bytes for each of their bytes */

static int open_dir(const char *path)
{
    return RET_NERRNO(open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

static int print(const char *boot_id, const struct nm_container *c, char **ret)
{
    json_t *container = NULL, *j;
    int r = nm_store_container_to_json(c, &container);
    char *text;

    if (r < 0)
        return r;
    j = json_pack("{s:i, s:s, s:b, s:o}", "format", FORMAT, "boot_id", boot_id, "has_blob", c->blob.bytes > 0,
                  "container", container);
    text = nm_json_text(j, JSON_COMPACT);
    json_decref(j);
    if (!text)
        return -ENOMEM;
    *ret = text;
    return 0;
}

int nm_container_snapshot_write(const char *container_dir, const char *boot_id, const struct nm_container *c)
{
    _cleanup_free_ char *text = NULL;
    _cleanup_close_ int fd = -EBADF;
    int r = print(boot_id, c, &text);

    assert(c->id[0] && boot_id[0]);
    if (r < 0)
        return r;
    fd = open_dir(container_dir);
    if (fd == -ENOENT) {
        r = nm_mkdir_p(container_dir, 0700);
        fd = r < 0 ? r : open_dir(container_dir);
    }
    r = fd < 0 ? fd : 0;
    if (r >= 0 && c->blob.bytes > 0) /* write the blob first, since the snapshot says that the blob exists */
        r = nm_write_bytes_atomic_at(fd, NM_SNAPSHOT_BLOB_FILE, c->blob.data, c->blob.bytes, 0600);
    return r < 0 ? r : nm_write_file_atomic_at(fd, NM_SNAPSHOT_FILE, text, 0600);
}

static int load(int dir_fd, json_t **ret)
{
    _cleanup_free_ uint8_t *text = NULL;
    size_t size;
    int r = nm_read_regular_at(dir_fd, NM_SNAPSHOT_FILE, MAX_BYTES, &text, &size);

    return r < 0 ? r : nm_store_json_parse((const char *)text, size, ret);
}

static int load_blob(int dir_fd, struct nm_container *c)
{
    _cleanup_free_ uint8_t *bytes = NULL;
    size_t size;
    int r = nm_read_regular_at(dir_fd, NM_SNAPSHOT_BLOB_FILE, NM_BLOB_MAX, &bytes, &size);

    if (r < 0)
        return r == -ENOENT ? -EBADMSG : r; /* the snapshot says that the blob exists */
    return nm_container_set_blob(c, bytes, size);
}

int nm_container_snapshot_read(const char *container_dir, const char *boot_id, bool *ret_same_boot,
                               struct nm_container **ret)
{
    _cleanup_(nm_container_freep) struct nm_container *c = NULL;
    const char *boot, *id = strrchr(container_dir, '/');
    _cleanup_close_ int dir = open_dir(container_dir);
    json_t *j = NULL;
    int r = dir < 0 ? dir : load(dir, &j);

    assert(ret_same_boot && ret);
    if (r < 0)
        return r;
    boot = json_string_value(json_object_get(j, "boot_id"));
    if (!boot || json_integer_value(json_object_get(j, "format")) != FORMAT)
        r = -EBADMSG;
    if (r >= 0)
        r = nm_store_container_from_json(json_object_get(j, "container"), &c);
    /* A directory that was renamed does not belong to the container in the file. */
    if (r >= 0 && (!id || !nm_streq(c->id, id + 1)))
        r = -EBADMSG;
    if (r >= 0 && json_is_true(json_object_get(j, "has_blob")))
        r = load_blob(dir, c);
    if (r >= 0) {
        *ret_same_boot = nm_streq(boot, boot_id);
        *ret = STEAL_PTR(c);
    }
    json_decref(j);
    return r < 0 ? r : 0;
}
