/* SPDX-License-Identifier: Apache-2.0 */

/* See start-log.h. */

#include "nmd/start-log.h"

#include <string.h>

#include "util/log.h"

int nm_daemon_refuse(const char *what, int r, const char *message)
{
    const char *p = r < 0 ? message ?: strerror(-r) : "";

    for (size_t n; *p; p += n + (p[n] == '\n')) {
        n = strcspn(p, "\n");
        nm_err("%s: %.*s", what, (int)n, p);
    }
    return r;
}

void nm_daemon_tell_yarn(int level, const char *sentence)
{
    nm_log(level, "YARN: %s", sentence);
}

void nm_daemon_warn_of_yarn(const char *sentence, void *userdata)
{
    (void)userdata;
    nm_daemon_tell_yarn(LOG_WARNING, sentence);
}
