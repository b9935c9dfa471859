/* SPDX-License-Identifier: Apache-2.0 */

/* Handles the signals of nmd (parts.h). */

#include <errno.h>
#include <signal.h>

#include <systemd/sd-daemon.h>

#include "agent/agent.h"
#include "nmd/parts.h"
#include "util/clock.h"

/* systemd shows the unit as reloading from RELOADING=1 to READY=1. */
static int on_hup(sd_event_source *s, const struct signalfd_siginfo *si, void *userdata)
{
    struct nm_daemon *d = userdata;
    struct nm_problem problem;

    (void)s, (void)si;
    (void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu",
                     (unsigned long long)nm_clock_usec(CLOCK_MONOTONIC));
    (void)nm_manager_reload(d->manager, &problem); /* on failure, logs the reason and keeps the settings */
    (void)sd_notify(0, "READY=1");
    return 0;
}

static void leave_loop(void *userdata)
{
    (void)sd_event_exit(userdata, 0);
}

/* Ends nmd after SIGTERM or SIGINT, at once or when the node has unregistered from its cluster. */
static int on_term(sd_event_source *s, const struct signalfd_siginfo *si, void *userdata)
{
    struct nm_daemon *d = userdata;
    sd_event *event = sd_event_source_get_event(s);

    (void)si;
    d->signs_off = d->yarn && nm_yarn_leave(d->yarn, leave_loop, event);
    if (!d->signs_off)
        leave_loop(event);
    return 0;
}

/* Blocks SIGCHLD, too, because nmd watches its children through pidfds, and the signal would interrupt system calls.
 * Ignores SIGPIPE, so that write() returns an error if a client has closed its connection. */
int nm_daemon_watch_signals(sd_event *event, struct nm_daemon *d)
{
    sigset_t mask;
    int r;

    sigemptyset(&mask);
    sigaddset(&mask, SIGTERM);
    sigaddset(&mask, SIGINT);
    sigaddset(&mask, SIGHUP);
    sigaddset(&mask, SIGCHLD);
    if (sigprocmask(SIG_BLOCK, &mask, NULL) < 0 || signal(SIGPIPE, SIG_IGN) == SIG_ERR)
        return -errno;
    r = sd_event_add_signal(event, NULL, SIGTERM, on_term, d);
    if (r >= 0)
        r = sd_event_add_signal(event, NULL, SIGINT, on_term, d);
    return r < 0 ? r : sd_event_add_signal(event, NULL, SIGHUP, on_hup, d);
}
