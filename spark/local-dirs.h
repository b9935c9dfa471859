/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The directories in which executors have their blocks: one in each local directory of the node,
 *
 *   LOCAL-DIR/usercache/USER/appcache/APPLICATION/blockmgr-NAME
 *
 * An executor registers their paths, and could name any path. So a path must have exactly this form, and only the
 * number of the local directory and the last name are kept.
 */

#include <sys/types.h>

#include "rpc/hadoop/bytes.h"

#define NM_SPARK_LOCAL_DIRS_MAX 64u

/* The node's local directories. */
struct nm_spark_local_dirs {
    const char *names[NM_SPARK_LOCAL_DIRS_MAX];
    unsigned n;
};

struct nm_spark_application {
    char id[64];
    char user[64]; /* user whose directory has the application's directory */
    uid_t uid;     /* owner of the files; files of other owners are not sent */
};

struct nm_spark_dir {
    uint8_t local;  /* number of the local directory */
    char name[63];  /* "blockmgr-" and 36 characters of a UUID */
};

/* Parses the path of a directory that an executor of the application has registered. Local directories are accepted as
 * they were configured, and without symbolic links, as Spark sends them. Returns -EINVAL for any other path. The
 * directory itself is not looked at. */
int nm_spark_dir_parse(const struct nm_spark_local_dirs *locals, const struct nm_spark_application *application,
                       struct nm_bytes path, struct nm_spark_dir *ret);

#define NM_SPARK_PATH_SIZE 256u

/* Writes the path of a registered directory below its local directory. */
void nm_spark_dir_path(const struct nm_spark_application *application, const struct nm_spark_dir *dir,
                       char ret[static NM_SPARK_PATH_SIZE]);
