/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* nm-localizer's whole run: reads its work, does it one resource after the other, and says what becomes of each. */

enum nm_worker_status {
    NM_WORKER_DONE = 0,
    NM_WORKER_SOME_FAILED = 1, /* its lines say which */
    NM_WORKER_NO_WORK = 2,     /* what it was told is no work; the reason is on standard error */
};

enum nm_worker_status nm_worker_run(int work_fd, int report_fd);
