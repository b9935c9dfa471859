/* SPDX-License-Identifier: Apache-2.0 */

/*
 * nmd sets the slice's memory.low, but never below a value that an administrator has set. The number in the file does
 * not show who wrote the value, and nmd's own number may appear late or again: systemd keeps requested values in /run
 * and applies them to a slice that is recreated, and an nmd that died may have requested another value just before. So
 * nmd notes its latest few requests beforehand, in a file beside its socket. That file is in /run, too, and so lasts
 * exactly as long as systemd's values.
 *
 * Limitation: if an administrator sets a value that equals one of nmd's latest requests, the administrator's value is
 * not recognized.
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
        if (is_bytes == n->asked_bytes[i] && is_bytes > 0) /* nmd never requests less than the administrator's value */
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
