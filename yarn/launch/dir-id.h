/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The identity of a local or log directory, and what nmd remembers of a directory over its restarts.
 *
 * A file in the directory has a random id. The numbers of device and inode don't identify a directory for long: after a
 * reboot, or when a disk was connected again, a disk may have another device number, and another disk its former one.
 *
 * nmd's state directory has a file for each directory, with its id and the path at which its disk is mounted. So an nmd
 * that starts while the disk is away doesn't use the empty directory at that path, which is often on the disk of "/".
 */

#include <stdbool.h>

#include "util/error.h"

#define NM_YARN_DIR_ID_FILE ".nmd-id"
#define NM_YARN_DIR_ID_SIZE 40

/* Returns the id of the open directory. If the directory has no id, this function writes one. If the id can't be
 * written, for example because the disk is read-only, this function returns the numbers of device and inode instead,
 * and a later call tries to write again. -errno: the directory can't be read. */
int nm_yarn_dir_id_get(int dir_fd, char ret[static NM_YARN_DIR_ID_SIZE]);
/* Returns the id of the open directory, and never writes one. -ENOENT: the directory has no id. */
int nm_yarn_dir_id_read(int dir_fd, char ret[static NM_YARN_DIR_ID_SIZE]);
/* Gives the directory another id, because the present one was copied from another directory. */
int nm_yarn_dir_id_renew(int dir_fd, char ret[static NM_YARN_DIR_ID_SIZE]);
/* Returns the id that nm_yarn_dir_id_get() uses while no id can be written to the directory. */
int nm_yarn_dir_id_of_inode(int dir_fd, char ret[static NM_YARN_DIR_ID_SIZE]);

struct nm_yarn_dir_memory {
    char id[NM_YARN_DIR_ID_SIZE]; /* "": nmd doesn't remember the directory */
    char *mount; /* path at which its disk was mounted; NULL: unknown, or the disk of "/" */
};

/* Loads what nmd remembers of the directory with this path. The caller frees ret->mount. If nmd's file about the
 * directory is damaged, nmd remembers nothing. -ENOMEM: there is no memory. */
int nm_yarn_dir_memory_load(const char *state_dir, const char *name, struct nm_yarn_dir_memory *ret);
/* Failures are ignored: the next nmd then uses whatever directory the path leads to. */
void nm_yarn_dir_memory_save(const char *state_dir, const char *name, const struct nm_yarn_dir_memory *memory);
