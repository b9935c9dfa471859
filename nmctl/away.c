/* SPDX-License-Identifier: Apache-2.0 */

/* See away.h. */

#include "nmctl/away.h"

#include <errno.h>

#include "nmctl/api.h"
#include "nmctl/message.h"
#include "util/clock.h"
#include "util/parse.h"

#define RETRY_USEC (250 * NM_USEC_PER_MSEC)
#define UPDATE_USEC NM_USEC_PER_SEC
/* Time to wait for nmd. In a log, where messages repeat once a minute, only the first message and the final one
 * appear. */
#define GIVE_UP_USEC (60 * NM_USEC_PER_SEC)

bool nm_away_is_loss(int r)
{
    return r == -ECONNRESET || r == -ECONNREFUSED || r == -ENOENT || r == -EPIPE || r == -ETIMEDOUT;
}

/* Updates the message once per second. Uses whole seconds, because changing tenths distract. */
static void print_how_long(struct nm_away *a, uint64_t now)
{
    uint64_t passed = now - a->since_usec;
    char text[32];

    if (now - a->said_usec < UPDATE_USEC || !nm_message_can_rewrite())
        return;
    a->said_usec = now;
    nm_message_again("waiting for nmd to return, for %s so far",
                     nm_format_duration(passed - passed % NM_USEC_PER_SEC, text, sizeof text));
}

int nm_away_lost(struct nm_away *a, const struct nm_ctl *ctl, int r, const char *goes_on)
{
    uint64_t now = nm_now_usec();

    a->retry_usec = now + RETRY_USEC;
    if (a->since_usec == 0) {
        a->since_usec = a->said_usec = now;
        nm_message("lost the connection to nmd at %s; %s%swaiting for nmd to return", ctl->socket_path, goes_on,
                   *goes_on ? "; " : "");
        return NM_CTL_OK;
    }
    if (now - a->since_usec > GIVE_UP_USEC)
        return nm_api_say_unreachable(ctl, r);
    print_how_long(a, now);
    return NM_CTL_OK;
}

void nm_away_back(struct nm_away *a)
{
    nm_message("nmd is back");
    a->since_usec = 0;
}
