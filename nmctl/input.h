/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Copies standard input to a container, in a child process, while the parent follows the container's output. */

#include <sys/types.h>

/* Starts the child process. `fd` is the connection, which stays the caller's. Returns the child's pid or -errno. */
pid_t nm_input_start(int fd);
void nm_input_stop(pid_t pid);
