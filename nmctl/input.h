/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Standard input on its way to a container, in a process of its own beside the one that follows its output. */

#include <sys/types.h>

/* Starts it; `fd`, the connection, stays the caller's. Its pid, or -errno. */
pid_t nm_input_start(int fd);
void nm_input_stop(pid_t pid);
