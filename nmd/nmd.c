/* SPDX-License-Identifier: Apache-2.0 */

/*
 * main() of nmd, the only program that uses every folder. nmd exits when its event loop ends. Containers keep running
 * afterwards.
 */

#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <systemd/sd-daemon.h>

#include "agent/agent.h"
#include "agent/status.h"
#include "nmd/instance.h"
#include "nmd/parts.h"
#include "util/autogroup.h"
#include "util/inherited.h"
#include "util/log.h"
#include "yarn/migrate/migrate.h"

static void raise_file_limit(void)
{
    struct rlimit rl;

    /* nmd uses about six descriptors per container and one per client. */
    if (getrlimit(RLIMIT_NOFILE, &rl) == 0) {
        rl.rlim_cur = rl.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &rl);
    }
}

/* Raises nmd's priority, so that nmd gets CPU time on an overloaded node. Children don't inherit the priority:
 * SCHED_RESET_ON_FORK resets the priority in each child, no matter whether nmd or the unit's Nice= raised it. The
 * kernel refuses this flag under RestrictRealtime=; in this case nm-shim resets its own priority. nmd also works
 * without a raised priority, so errors are ignored. */
static void raise_priority(void)
{
    const struct sched_param zero = {0};

    (void)sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &zero);
    (void)setpriority(PRIO_PROCESS, 0, -10);
    /* With autogroups, nice values apply only within a session. If nmd is the leader of its session, raise the priority
     * of the whole session. */
    if (getsid(0) == getpid())
        (void)nm_autogroup_set_own_nice(-10);
}

/* Logs the features that this kernel or host doesn't offer. The log needs them, because the status that nmd had at this
 * time can't be queried later. */
static void report_limits(struct nm_manager *m)
{
    struct nm_status s;

    nm_manager_get_status(m, &s);
    for (unsigned i = 0; i < s.n_notes; i++)
        nm_notice("limits: %s", s.notes[i]);
}

/* Sends READY=1 after all parts have started, so that nmd already answers when systemd starts the units that are
 * ordered after nmd. */
static int run(struct nm_daemon *d, sd_event *event, const struct nm_daemon_options *o)
{
    int r;

    raise_file_limit();
    raise_priority();
    r = nm_daemon_start(d, event, o);
    if (r < 0)
        return r;
    (void)sd_event_set_watchdog(event, true); /* no effect unless the unit sets WatchdogSec= */
    (void)sd_notifyf(0, "READY=1\nSTATUS=ready; admitting containers, listening on %s", o->socket);
    (void)malloc_trim(0); /* reading the configuration has left pages without use between those in use */
    nm_info("nmd " NM_VERSION " is ready, listening on %s", o->socket);
    report_limits(d->manager);
    r = sd_event_loop(event);
    (void)sd_notify(0, "STOPPING=1");
    if (r >= 0)
        nm_manager_prepare_exit(d->manager);
    nm_info("nmd is exiting; %s", d->signs_off ? "the node has left its cluster, whose containers were ended; other "
                                                 "containers keep running" : "containers keep running");
    return r;
}

static int exit_status(int r)
{
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* glibc adds this much whenever it enlarges the heap. With its default of 128 KiB, nmd's resident memory is 150 KiB
 * larger. */
#define HEAP_PAD_BYTES 16384

int main(int argc, char **argv)
{
    struct nm_daemon_options o = {.backend = NM_CGROUP_BACKEND_AUTO, .listen_fd = -1};
    static struct nm_daemon_paths paths;
    struct nm_daemon d = {0};
    sd_event *event = NULL;
    int r;

    nm_inherited_reset();
    (void)mallopt(M_TOP_PAD, HEAP_PAD_BYTES);
    (void)signal(SIGXFSZ, SIG_IGN); /* at the limit on file size, write() fails with EFBIG instead of ending nmd by a
                                       signal */
    nm_log_init(NM_LOG_AUTO);
    r = nm_daemon_parse_argv(argc, argv, &o);
    if (r != 0)
        return r < 0 ? 2 : EXIT_SUCCESS;
    if (o.migrate_dir)
        return nm_migrate_run(o.migrate_dir, o.as_json);
    if (o.setup.conf_dir)
        return exit_status(nm_yarn_setup_run(&o.setup, o.config, o.state_dir, nm_instance_holder,
                                             nm_daemon_warn_of_yarn));
    nm_daemon_fill_defaults(&paths, &o);
    if (sd_listen_fds(1) >= 1) /* sd_listen_fds(1) also unsets the environment variables, so it can be called only
                                  once */
        o.listen_fd = SD_LISTEN_FDS_START;
    (void)umask(077);
    r = sd_event_default(&event);
    if (r >= 0 && o.check_config)
        r = nm_daemon_check_config(&d, event, &o);
    else if (r >= 0)
        r = run(&d, event, &o);
    nm_daemon_done(&d);
    sd_event_unref(event);
    return exit_status(r);
}
