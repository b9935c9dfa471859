/* SPDX-License-Identifier: Apache-2.0 */

/*
 * main() of nmd, the only program that uses every folder. nmd exits when its event loop ends. Containers keep running
 * after that.
 */

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <systemd/sd-daemon.h>

#include "nmd/check-config.h"
#include "nmd/instance.h"
#include "nmd/options.h"
#include "nmd/paths.h"
#include "nmd/run.h"
#include "nmd/start-log.h"
#include "util/inherited.h"
#include "util/log.h"

static int exit_status(int r)
{
    return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct nm_daemon_options o = {.backend = NM_CGROUP_BACKEND_AUTO, .listen_fd = -1};
    static struct nm_daemon_paths paths;
    struct nm_daemon d = {0};
    sd_event *event = NULL;
    int r;

    nm_inherited_reset();
    (void)signal(SIGXFSZ, SIG_IGN); /* at the limit on file size, write() fails with EFBIG instead of ending nmd */
    nm_log_init(NM_LOG_AUTO);
    r = nm_daemon_parse_argv(argc, argv, &o);
    if (r != 0)
        return r < 0 ? 2 : EXIT_SUCCESS;
    if (o.setup.conf_dir)
        return exit_status(nm_yarn_setup_run(&o.setup, o.config, o.state_dir, nm_instance_holder,
                                             nm_daemon_warn_of_yarn));
    nm_daemon_fill_defaults(&paths, &o);
    if (sd_listen_fds(1) >= 1) /* also unsets the variables, so this must be the only call */
        o.listen_fd = SD_LISTEN_FDS_START;
    (void)umask(077);
    r = sd_event_default(&event);
    if (r >= 0 && o.check_config)
        r = nm_daemon_check_config(&d, event, &o);
    else if (r >= 0)
        r = nm_daemon_run(&d, event, &o);
    nm_daemon_done(&d);
    sd_event_unref(event);
    return exit_status(r);
}
