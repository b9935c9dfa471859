/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The slice's memory.low is nmd's, but for a value that an administrator has set, which is the least. The number
 * alone doesn't say who wrote it, and it can come late or come back: systemd keeps what it was asked for in /run and
 * gives it to a slice that was stopped and is made anew, and an nmd that died may have asked for more just before. So
 * what nmd asks for is noted beforehand, the latest few, in a file beside its socket: in /run as well, it lives as
 * long as systemd's memory does, and ends with the same reboot.
 *
 * The price: an administrator who sets the very value that was one of nmd's latest isn't heard.
 */

#include "agent/node/slice-note.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "util/fileio.h"
#include "util/macros.h"

#define NOTE_NAME "slice-low"
#define LINE "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n"
#define SCAN_LINE "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64

bool nm_slice_note_see(struct nm_slice_note *n, uint64_t is_bytes)
{
    if (is_bytes == n->own_bytes)
        return false;
    for (size_t i = 0; i < NM_ARRAY_SIZE(n->asked_bytes); i++)
        if (is_bytes == n->asked_bytes[i] && is_bytes > 0) /* nmd never asks for less than the administrator */
            return false;
    *n = (struct nm_slice_note){.own_bytes = is_bytes, .unsaved = true};
    return true;
}

void nm_slice_note_ask(struct nm_slice_note *n, uint64_t bytes)
{
    if (bytes == n->own_bytes || bytes == n->asked_bytes[0])
        return;
    for (size_t i = NM_ARRAY_SIZE(n->asked_bytes) - 1; i > 0; i--)
        n->asked_bytes[i] = n->asked_bytes[i - 1];
    n->asked_bytes[0] = bytes;
    n->unsaved = true;
}

int nm_slice_note_load(const char *directory, struct nm_slice_note *ret)
{
    _cleanup_close_ int dir_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct nm_slice_note n = {0};
    char text[160];
    int r = dir_fd < 0 ? -errno : nm_read_file_at(dir_fd, NOTE_NAME, text, sizeof text, NULL);

    if (r >= 0 && sscanf(text, SCAN_LINE, &n.own_bytes, &n.asked_bytes[0], &n.asked_bytes[1], &n.asked_bytes[2],
                         &n.asked_bytes[3]) != 5)
        n = (struct nm_slice_note){0};
    *ret = n;
    return r == -ENOENT ? 0 : r;
}

int nm_slice_note_save(const char *directory, struct nm_slice_note *n)
{
    _cleanup_close_ int dir_fd = -EBADF;
    char text[160];
    int r;

    if (!n->unsaved)
        return 0;
    dir_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return -errno;
    (void)snprintf(text, sizeof text, LINE, n->own_bytes, n->asked_bytes[0], n->asked_bytes[1], n->asked_bytes[2],
                   n->asked_bytes[3]);
    r = nm_write_file_atomic_at(dir_fd, NOTE_NAME, text, 0600);
    if (r >= 0)
        n->unsaved = false;
    return r;
}
