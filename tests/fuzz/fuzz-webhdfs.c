/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes the answers of an HDFS name node, or of another server at the same address. */

#include "localize/worker/webhdfs.h"
#include "util/macros.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *class = NULL, *text = NULL;
    struct nm_webhdfs_status status = {.mode = 01000};
    struct nm_webhdfs_list list = {0};

    if (nm_webhdfs_parse_status((const char *)data, size, &status) == 0
            ? status.mode > 0777 || status.length_bytes > INT64_MAX || status.modified_msec > INT64_MAX
            : status.mode != 01000)
        abort();
    if ((nm_webhdfs_parse_exception((const char *)data, size, &class, &text) == 0) != !!class || !class != !text)
        abort();
    if (nm_webhdfs_parse_list((const char *)data, size, &list) == 0)
        for (size_t i = 0; i < list.n; i++)
            if (!*list.all[i].name || strchr(list.all[i].name, '/') || list.all[i].status.mode > 0777)
                abort();
    nm_webhdfs_list_done(&list);
    return 0;
}
