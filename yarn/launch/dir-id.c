/* SPDX-License-Identifier: Apache-2.0 */

/* See dir-id.h. */

#include "yarn/launch/dir-id.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/fileio.h"
#include "util/fnv1a.h"

#define RANDOM_BYTES 16
#define HEX "0123456789abcdef"
#define MEMORY_DIR "directories" /* in nmd's state directory */
#define MEMORY_NAME_SIZE 24
#define MEMORY_MAX (2 * PATH_MAX + NM_YARN_DIR_ID_SIZE + 3)

/* ---- the id ------------------------------------------------------------------------------- */

int nm_yarn_dir_id_of_inode(int dir_fd, char ret[static NM_YARN_DIR_ID_SIZE])
{
    struct stat st;

    if (fstat(dir_fd, &st) < 0)
        return -errno;
    (void)snprintf(ret, NM_YARN_DIR_ID_SIZE, "%jx-%jx", (uintmax_t)st.st_dev, (uintmax_t)st.st_ino);
    return 0;
}

/* Syncs the file, because with another id the contents of the directory count as those of another NodeManager. This is
 * done once in the life of a directory, so the event loop may wait for the disk. */
static int write_id(int dir_fd, const char *text)
{
    int r = nm_write_file_atomic_at(dir_fd, NM_YARN_DIR_ID_FILE, text, 0600);
    _cleanup_close_ int fd = r < 0 ? r : RET_NERRNO(openat(dir_fd, NM_YARN_DIR_ID_FILE, O_RDONLY | O_CLOEXEC));

    if (fd < 0)
        return fd;
    return fsync(fd) < 0 || fsync(dir_fd) < 0 ? -errno : 0;
}

int nm_yarn_dir_id_renew(int dir_fd, char ret[static NM_YARN_DIR_ID_SIZE])
{
    uint8_t random[RANDOM_BYTES];
    char text[2 * RANDOM_BYTES + 2];
    int r;

    if (getrandom(random, sizeof random, 0) != sizeof random)
        return -EIO;
    for (size_t i = 0; i < sizeof random; i++)
        (void)snprintf(text + 2 * i, sizeof text - 2 * i, "%02x", random[i]);
    text[2 * RANDOM_BYTES] = '\n';
    text[2 * RANDOM_BYTES + 1] = '\0';
    r = write_id(dir_fd, text);
    if (r >= 0)
        (void)snprintf(ret, NM_YARN_DIR_ID_SIZE, "%.*s", 2 * RANDOM_BYTES, text);
    return r;
}

/* If the id file is damaged, the directory is treated as one that has no id file. */
int nm_yarn_dir_id_read(int dir_fd, char ret[static NM_YARN_DIR_ID_SIZE])
{
    char text[NM_YARN_DIR_ID_SIZE];
    int r = nm_read_plain_file_at(dir_fd, NM_YARN_DIR_ID_FILE, text, sizeof text, NULL);

    if (r == -EISDIR || r == -EBADMSG || r == -E2BIG)
        return -ENOENT;
    if (r < 0)
        return r;
    if (strspn(text, HEX) != 2 * RANDOM_BYTES || !nm_streq(text + 2 * RANDOM_BYTES, "\n"))
        return -ENOENT;
    text[2 * RANDOM_BYTES] = '\0';
    (void)snprintf(ret, NM_YARN_DIR_ID_SIZE, "%s", text);
    return 0;
}

int nm_yarn_dir_id_get(int dir_fd, char ret[static NM_YARN_DIR_ID_SIZE])
{
    int r = nm_yarn_dir_id_read(dir_fd, ret);

    if (r != -ENOENT)
        return r;
    return nm_yarn_dir_id_renew(dir_fd, ret) >= 0 ? 0 : nm_yarn_dir_id_of_inode(dir_fd, ret);
}

/* ---- the memory --------------------------------------------------------------------------- */

/* The file contains the path too, since different paths can have the same hash. */
static void memory_name(const char *name, char ret[static MEMORY_NAME_SIZE])
{
    (void)snprintf(ret, MEMORY_NAME_SIZE, "%016" PRIx64, nm_fnv1a_64(name));
}

static int open_memory(const char *state_dir, bool makes)
{
    _cleanup_free_ char *path = NULL;
    int r = asprintf(&path, "%s/" MEMORY_DIR, state_dir) < 0 ? -ENOMEM : 0;

    if (r >= 0 && makes)
        r = nm_mkdir_p(path, 0700);
    return r < 0 ? r : RET_NERRNO(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

/* Returns the line at *at, and moves *at behind it. NULL: there is no whole line. */
static char *next_line(char **at)
{
    char *line = *at, *end = strchr(line, '\n');

    if (!end)
        return NULL;
    *end = '\0';
    *at = end + 1;
    return line;
}

int nm_yarn_dir_memory_load(const char *state_dir, const char *name, struct nm_yarn_dir_memory *ret)
{
    _cleanup_free_ char *text = malloc(MEMORY_MAX);
    _cleanup_close_ int fd = open_memory(state_dir, false);
    char file[MEMORY_NAME_SIZE], *at = text, *saved, *id, *mount;
    struct nm_yarn_dir_memory m = {};

    if (!text || fd == -ENOMEM)
        return -ENOMEM;
    memory_name(name, file);
    if (fd >= 0 && nm_read_file_at(fd, file, text, MEMORY_MAX, NULL) >= 0) {
        saved = next_line(&at);
        id = saved ? next_line(&at) : NULL;
        mount = id ? next_line(&at) : NULL;
        if (mount && nm_streq(saved, name) && strlen(id) < sizeof m.id && (!*mount || *mount == '/')) {
            m.mount = *mount ? strdup(mount) : NULL;
            if (*mount && !m.mount)
                return -ENOMEM;
            (void)snprintf(m.id, sizeof m.id, "%s", id);
        }
    }
    *ret = m;
    return 0;
}

void nm_yarn_dir_memory_save(const char *state_dir, const char *name, const struct nm_yarn_dir_memory *memory)
{
    _cleanup_close_ int fd = open_memory(state_dir, true);
    _cleanup_free_ char *text = NULL;
    char file[MEMORY_NAME_SIZE];

    if (fd < 0 || strchr(name, '\n') || (memory->mount && strchr(memory->mount, '\n')) ||
        asprintf(&text, "%s\n%s\n%s\n", name, memory->id, memory->mount ?: "") < 0)
        return;
    memory_name(name, file);
    (void)nm_write_file_atomic_at(fd, file, text, 0600);
}
