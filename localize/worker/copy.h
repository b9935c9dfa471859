/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/*
 * Copies all of the file from_fd to the empty file to_fd; where the file system can, they share what is on the disk.
 * *ret_bytes is how much it was. -EFBIG: it is more than most_bytes; -ETIMEDOUT: nm_now_usec() came to the deadline.
 * progress hears of it now and then.
 */
int nm_copy_file(int from_fd, int to_fd, uint64_t most_bytes, uint64_t deadline_usec,
                 void (*progress)(void *userdata, uint64_t bytes, uint64_t total_bytes), void *userdata,
                 uint64_t *ret_bytes);
