/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The code of nm-localizer except main(): its run, and the check of a file of certificates. */

enum nm_worker_status {
    NM_WORKER_DONE = 0,
    NM_WORKER_SOME_FAILED = 1, /* some resources failed; the worker's reports contain their positions */
    NM_WORKER_NO_WORK = 2,     /* the worker's input is invalid; the reason is on standard error */
};

/* Reads the work, executes it one item after the other, and reports each result. */
enum nm_worker_status nm_worker_run(int work_fd, int report_fd);

/* ---- ca.c ------------------------------------------------------------------------------------ */

/* Checks whether a file of certificates can be used as work.h's ca_file. The library that fetches loads the file in the
 * same way as for a fetch, because different libraries accept different files, and one damaged certificate may make all
 * other certificates unusable. Returns 0 if the file can be used. Otherwise returns -errno, and a text (freed by the
 * caller) that continues "FILE: ". -ENOTCONN: the file couldn't be checked. */
int nm_ca_check(const char *file, char **ret_message);
