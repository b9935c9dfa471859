/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes the report of nvidia-smi. The first byte is the size of the pieces in which the report is read. An accepted
 * report must have valid GPUs, and the same ones if it is read at once. */

#include "text.h"

#include "yarn/gpu/report.h"

static int read_report(const char *text, size_t size, size_t piece, struct nm_yarn_gpu *list, size_t *ret_n)
{
    _cleanup_(nm_yarn_gpu_report_freep) struct nm_yarn_gpu_report *r = NULL;
    const char *why = NULL;
    int e = nm_yarn_gpu_report_new(&r);

    if (e < 0)
        abort();
    for (size_t i = 0; i < size; i += piece)
        nm_yarn_gpu_report_add(r, text + i, NM_MIN(piece, size - i));
    e = nm_yarn_gpu_report_end(r, list, ret_n, &why);
    if (e == -EBADMSG && (!why || !*why))
        abort();
    return e;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nm_yarn_gpu list[NM_YARN_GPUS_MAX], again[NM_YARN_GPUS_MAX];
    size_t n = 0, n_again = 0;
    uint64_t seen = 0;

    if (size == 0)
        return 0;
    if (read_report((const char *)data + 1, size - 1, (size_t)data[0] + 1, list, &n) < 0)
        return 0;
    if (n > NM_YARN_GPUS_MAX)
        abort();
    for (size_t i = 0; i < n; i++) {
        if (list[i].index != i || list[i].minor >= NM_YARN_GPUS_MAX || (seen >> list[i].minor & 1))
            abort();
        seen |= UINT64_C(1) << list[i].minor;
    }
    if (read_report((const char *)data + 1, size - 1, size, again, &n_again) < 0 || n_again != n ||
        memcmp(list, again, n * sizeof *list) != 0)
        abort();
    return 0;
}
