/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reads the report of `nvidia-smi -q -x`, an XML document, piece by piece:
 *
 *   <nvidia_smi_log>
 *     <gpu id="00000000:04:00.0">
 *       <minor_number>0</minor_number>
 *       ...
 *     </gpu>
 *   </nvidia_smi_log>
 *
 * As in Hadoop, the index of a GPU is its place in the report. Other elements are ignored. A report is refused if it
 * isn't well-formed, declares entities, is nested too deeply, or has too many GPUs, or if a GPU has no minor number, a
 * number that is too large, or that of another GPU. The code does no I/O.
 */

#include "yarn/conf/properties.h"

struct nm_yarn_gpu_report;

int nm_yarn_gpu_report_new(struct nm_yarn_gpu_report **ret);
struct nm_yarn_gpu_report *nm_yarn_gpu_report_free(struct nm_yarn_gpu_report *r);
NM_DEFINE_CLEANUP(struct nm_yarn_gpu_report *, nm_yarn_gpu_report_free)

/* Reads the next piece. After a refusal, further pieces are ignored. */
void nm_yarn_gpu_report_add(struct nm_yarn_gpu_report *r, const char *text, size_t size);
/* Must be called after the last piece. Fills list[], which has room for NM_YARN_GPUS_MAX GPUs. -EBADMSG: the report is
 * refused, and *ret_why is a constant text. -ENOMEM. */
int nm_yarn_gpu_report_end(struct nm_yarn_gpu_report *r, struct nm_yarn_gpu *list, size_t *ret_n, const char **ret_why);
