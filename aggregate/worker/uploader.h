/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The main code of nm-log-uploader, which runs as the application's user. nmd starts it, writes its work
 * (upload-work.h), and reads its lines (aggregate/upload-protocol.h). */

enum nm_uploader_status {
    NM_UPLOADER_DONE = 0,
    NM_UPLOADER_FAILED = 1,
    NM_UPLOADER_NO_WORK = 2, /* the work is invalid; stderr has the reason */
};

/* Does the work from work_fd, and reports to report_fd. */
enum nm_uploader_status nm_uploader_run(int work_fd, int report_fd);
