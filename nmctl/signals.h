/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Signals that are read in a loop, and interrupt nothing. */

#include <stddef.h>

/* These come to a descriptor (signalfd), which is returned, from now on; what is ignored (nohup) stays ignored. A
 * reader that has gone is no longer told by SIGPIPE either, but by write(). Or -errno. */
int nm_signals_hold(const int *signals, size_t n);
