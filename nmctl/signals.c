/* SPDX-License-Identifier: Apache-2.0 */

/* See signals.h. */

#include "nmctl/signals.h"

#include <errno.h>
#include <signal.h>
#include <sys/signalfd.h>

#include "util/error.h"

int nm_signals_hold(const int *signals, size_t n)
{
    sigset_t set;
    int fd;

    sigemptyset(&set);
    for (size_t i = 0; i < n; i++) {
        struct sigaction old;

        if (sigaction(signals[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaddset(&set, signals[i]);
    }
    if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
        return -errno;
    fd = RET_NERRNO(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (fd >= 0)
        (void)signal(SIGPIPE, SIG_IGN);
    return fd;
}
