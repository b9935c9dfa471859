/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes the work of nm-log-uploader. Patterns, access lists and names in it come from users. */

#include "aggregate/upload-names.h"
#include "aggregate/worker/upload-work.h"
#include "util/macros.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool fine)
{
    if (!fine)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(nm_upload_work_done) struct nm_upload_work work = {0};
    _cleanup_free_ char *message = NULL, *dir = NULL, *name = NULL;

    if (nm_upload_work_parse((const char *)data, size, &work, &message) < 0) {
        check(!work.json && !work.log_dirs && !work.containers);
        return 0;
    }
    check(!message && *work.remote.path == '/');
    if (work.prepares)
        return 0;
    dir = nm_upload_names_dir(work.remote.path, work.user, work.suffix, work.application, NM_UPLOAD_DEPTH);
    name = nm_upload_names_file(work.node, work.upload_msec);
    check(dir && *dir == '/' && name && !strchr(name, '/') && !strchr(name, ':') && *name != '.');
    for (size_t i = 0; i < work.n_containers; i++)
        check(!strchr(work.containers[i].id, '/') && work.containers[i].id[0] != '.');
    for (size_t i = 0; i < work.n_log_dirs; i++)
        check(work.log_dirs[i][0] == '/');
    return 0;
}
