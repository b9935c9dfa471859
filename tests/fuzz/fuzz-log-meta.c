/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes the index of an IndexedFile, which is read from the remote file system before an upload is appended. An index
 * that is accepted must be a valid one after the upload, too. */

#include <stdlib.h>

#include "aggregate/format/log-meta.h"
#include "util/macros.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct nm_log_meta meta = {"ada", "n:1", " ", "bob"};
    static const struct nm_log_meta_file files[] = {{"c1", "out", 32, 5, 99}, {"c2", "err", 37, 0, 0}};
    struct nm_log_meta_upload upload = {"n_1", 1700000000000, files, NM_ARRAY_SIZE(files)};
    struct nm_log_meta_former former = {data, size};
    struct nm_log_buffer next = {};
    int r = nm_log_meta_check(&meta, former);

    if (r < 0 || !data)
        return 0;
    if (nm_log_meta_write(&meta, former, &upload, &next) < 0 || next.size <= size)
        abort();
    former = (struct nm_log_meta_former){next.data, next.size};
    if (nm_log_meta_check(&meta, former) < 0)
        abort();
    nm_log_buffer_done(&next);
    return 0;
}
