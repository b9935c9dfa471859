/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Protection against browsers on the UNIX socket. Browsers can't connect to UNIX sockets, but users forward a local
 * port to it (ssh -L 8042:/run/nmd/nmd.sock NODE) to see the page with their containers. Other pages in the same
 * browser can then send requests to that port too, which nmd would treat as requests of the user. Two headers reveal
 * this, because pages can't change them: Origin is the page that sends the request, and Host is the name by which it
 * was sent.
 */

#include "rpc/local/names.h"

enum nm_browser_outcome {
    NM_BROWSER_E_ORIGIN = 1, /* the request comes from a page that isn't nmd's */
    /* the name in Host may belong to an attacker, whose DNS server resolves the name to this host (DNS rebinding) */
    NM_BROWSER_E_HOST,
};

/* Judges the values of both headers, or NULL. Programs other than browsers send no Origin, and may use any name
 * without a dot as Host. Returns 0 or an outcome. */
int nm_browser_judge(struct nm_names *names, const char *origin, const char *host);
