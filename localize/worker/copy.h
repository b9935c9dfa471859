/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/*
 * Copies the whole file from_fd to the empty file to_fd. The files share blocks on the disk if the file system can do
 * that. *ret_bytes is the number of bytes copied. -EFBIG: there are more than most_bytes. -ETIMEDOUT: nm_now_usec()
 * reached the deadline. progress is called now and then.
 */
int nm_copy_file(int from_fd, int to_fd, uint64_t most_bytes, uint64_t deadline_usec,
                 void (*progress)(void *userdata, uint64_t bytes, uint64_t total_bytes), void *userdata,
                 uint64_t *ret_bytes);
