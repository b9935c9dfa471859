/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Receives signals through a descriptor, so that they don't interrupt system calls. */

#include <stddef.h>

/* Blocks the signals and returns a signalfd for them, or -errno. Signals that are ignored (nohup) stay ignored. Also
 * ignores SIGPIPE: write() then fails with EPIPE if the reader has gone. */
int nm_signals_hold(const int *signals, size_t n);
