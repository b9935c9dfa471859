/* SPDX-License-Identifier: Apache-2.0 */

/* See conf.h. Reads the files of a directory into the set, one after the other. A missing file is skipped. */

#include "yarn/conf/conf-set.h"

#include "util/fileio.h"

/* Returns 1 if the file doesn't exist. */
static int read_one(struct nm_yarn_conf *c, int dir_fd, const char *dir, const char *name, char **ret_message)
{
    _cleanup_free_ char *text = malloc(NM_YARN_CONF_FILE_MAX), *path = NULL;
    char shown[200];
    size_t size;
    int r;

    if (!text || asprintf(&path, "%s/%s", dir, name) < 0) {
        path = NULL;
        return -ENOMEM;
    }
    r = nm_read_file_at(dir_fd, name, text, NM_YARN_CONF_FILE_MAX, &size);
    if (r == 0)
        return nm_yarn_conf_read_text(c, dir_fd, path, text, size, ret_message);
    nm_yarn_conf_shown(path, shown, sizeof shown);
    if (r == -E2BIG)
        return nm_fail(ret_message, r, "%s: the file is larger than %u KiB, the maximum for a configuration "
                                       "file", shown,
                       NM_YARN_CONF_FILE_MAX / 1024);
    return r == -ENOENT ? 1 : nm_fail(ret_message, r, "%s: can't read: %s", shown, strerror(-r));
}

int nm_yarn_conf_read_dir(struct nm_yarn_conf *c, const char *dir, struct nm_refusals *refusals, char **ret_message)
{
    static const char *const names[] = {"core-site.xml", "hdfs-site.xml", "mapred-site.xml", "yarn-site.xml",
                                        "hadoop-policy.xml"};
    _cleanup_(nm_refusals_done) struct nm_refusals failures = {};
    _cleanup_close_ int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    unsigned n = 0;
    char shown[200];

    nm_yarn_conf_shown(dir, shown, sizeof shown);
    if (fd < 0) {
        int error = errno;
        return nm_fail(ret_message, -error, "%s: can't open: %s", shown, strerror(error));
    }
    for (size_t i = 0; i < NM_ARRAY_SIZE(names); i++) {
        char *message = NULL;
        int r = read_one(c, fd, dir, names[i], &message);

        n += r == 0;
        r = nm_refusals_add(&failures, r, message);
        if (r < 0)
            return r;
    }
    if (n == 0 && failures.text)
        return nm_refusals_take(&failures, ret_message);
    if (n == 0)
        return nm_fail(ret_message, -ENOENT, "%s: contains neither yarn-site.xml nor core-site.xml", shown);
    return nm_refusals_add(refusals, failures.error, STEAL_PTR(failures.text));
}
