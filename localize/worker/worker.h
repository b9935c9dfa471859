/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The whole run of nm-localizer: reads its work, does it one resource after the other, and reports each result. */

enum nm_worker_status {
    NM_WORKER_DONE = 0,
    NM_WORKER_SOME_FAILED = 1, /* some resources failed; the worker's reports name them */
    NM_WORKER_NO_WORK = 2,     /* the worker's input is invalid; the reason is on standard error */
};

enum nm_worker_status nm_worker_run(int work_fd, int report_fd);
