/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Browsers on the UNIX socket. They know none, but people lead a port of their own to it (ssh -L
 * 8042:/run/nmd/nmd.sock NODE) in order to see the page with what is theirs. Whatever else their browser shows can
 * then send requests to that port, too, and the socket takes them for those of its user. Two headers tell, which
 * no page can change: Origin, which page a request comes from, and Host, by which name it was made.
 */

#include "rpc/local/names.h"

enum nm_browser_outcome {
    NM_BROWSER_E_ORIGIN = 1, /* it comes from another page than nmd's */
    NM_BROWSER_E_HOST,       /* the name may be a stranger's, who has it lead here (DNS rebinding) */
};

/* Header values, or NULL. Programs that are no browsers send no Origin, and any name without a dot as Host.
 * Returns 0 or an outcome. */
int nm_browser_judge(struct nm_names *names, const char *origin, const char *host);
