/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See narrate.h. nmd is asked once a second while the container waits, and then, only if there is a
 * person at a terminal, every two seconds for pauses. What is told again is a new position or
 * another reason, not every change of a figure.
 */

#include "nmctl/narrate.h"

#include "nmctl/api.h"
#include "nmctl/container.h"
#include "nmctl/hold.h"
#include "nmctl/json.h"
#include "nmctl/say.h"
#include "util/clock.h"
#include "util/parse.h"

#define GRACE_USEC                                                                                 \
    (300 * NM_USEC_PER_MSEC) /* most containers have started by then: nothing to tell */
#define QUEUED_PERIOD_USEC NM_USEC_PER_SEC
#define RUNNING_PERIOD_USEC (2 * NM_USEC_PER_SEC)
#define TIMEOUT_USEC (5 * NM_USEC_PER_SEC)

/* Returns the words that begin the first message about a container that nmctl waits for; "" for later messages. */
static const char *begin(struct nm_narrate *n, const json_t *c, char *buf, size_t size)
{
    char title[160];

    buf[0] = '\0';
    if (n->waits && !n->told)
        (void)snprintf(buf, size, "waiting for %s, which is ", nm_container_title(c, title, sizeof title));
    n->told = true;
    return buf;
}

/* Prints the state of a container that is neither queued nor paused, if nothing has been printed about it yet. */
static void tell_state(struct nm_narrate *n, const json_t *c)
{
    const char *state = nm_json_str(c, "state"), *progress = nm_json_str(c, "progress");
    char title[200], age[32];

    if (!n->waits || n->told)
        return;
    (void)begin(n, c, title, sizeof title);
    if (nm_streq(state, "RUNNING"))
        nm_say("%sRUNNING, for %s so far", title, nm_container_age(c, age, sizeof age));
    else if (nm_streq(state, "KILLING"))
        nm_say("%sbeing killed, and has not ended yet", title);
    else
        nm_say("%s%s%s%s", title, nm_container_state_word(state), *progress ? ": " : "", progress);
}

/* Figures are fetched only when there is something to tell. */
static void tell_waiting(struct nm_narrate *n, struct nm_ctl *ctl, const json_t *c)
{
    _cleanup_json_ json_t *status = NULL;
    uint64_t position = nm_json_u64(c, "queue_position");
    const char *hold = nm_json_str(c, "hold");
    char why[1024], title[200];

    /* No reason: it has just come and no round has looked at it, and most are started by the first.
     */
    if (!*hold)
        return;
    if (n->told_waiting && position == n->position && nm_streq(hold, n->hold))
        return;
    (void)nm_api_try_get(ctl, "/v1/status", TIMEOUT_USEC, &status);
    nm_hold_text(hold, c, status, why, sizeof why);
    if (position > 0)
        nm_say("%squeued at position %llu%s%s", begin(n, c, title, sizeof title), (unsigned long long)position,
               *why ? ": " : "", why);
    else
        nm_say("%squeued: %s", begin(n, c, title, sizeof title), why);
    n->told_waiting = true;
    n->position = position;
    (void)snprintf(n->hold, sizeof n->hold, "%s", hold);
}

/* A start is news only to somebody who was told to wait. */
static void tell_started(struct nm_narrate *n, const json_t *c)
{
    uint64_t submitted = nm_json_u64(c, "submitted_usec"), started = nm_json_u64(c, "started_usec");
    char waited[32];

    if (n->told_waiting && started > submitted)
        nm_say("started after %s", nm_format_duration(started - submitted, waited, sizeof waited));
    n->started = true;
}

/* What has changed since the last look. */
static void tell(struct nm_narrate *n, struct nm_ctl *ctl, const json_t *c)
{
    const char *state = nm_json_str(c, "state");
    bool paused = nm_streq(state, "PAUSED") || nm_streq(state, "PAUSING");

    if (!n->started && (nm_streq(state, "SCHEDULED") || nm_streq(state, "NEW")))
        tell_waiting(n, ctl, c);
    else if (!n->started && *state)
        tell_started(n, c);
    if (paused && !n->paused) {
        uint64_t deadline = nm_json_u64(c, "pause_deadline_usec"), now = nm_realtime_usec();
        char left[32], title[200];

        nm_format_duration(deadline > now ? deadline - now : 0, left, sizeof left);
        nm_say("%spaused%s%s; 'nmctl explain %s' tells why", begin(n, c, title, sizeof title),
               deadline > now ? "; killed if that lasts for another " : "", deadline > now ? left : "",
               nm_json_str(c, "id"));
    } else if (n->paused && nm_streq(state, "RUNNING"))
        nm_say("resumed");
    else if (n->started || nm_streq(state, "LOCALIZING"))
        tell_state(n, c);
    n->paused = paused;
}

/* A script that reads stderr is told why it waits, and that is all: no polling of what runs. */
static void plan(struct nm_narrate *n)
{
    uint64_t now = nm_now_usec();

    if (!n->started)
        n->next_usec = now + QUEUED_PERIOD_USEC;
    else
        n->next_usec = n->tty ? now + RUNNING_PERIOD_USEC : UINT64_MAX;
}

/* Without a terminal the pauses are left out: a log file wants the queue and the end, not each
 * turn. */
void nm_narrate_init(struct nm_narrate *n, bool waits)
{
    *n = (struct nm_narrate){
        .waits = waits,
        .tty = isatty(STDERR_FILENO),
        .next_usec = nm_now_usec() + GRACE_USEC,
    };
}

uint64_t nm_narrate_next(const struct nm_narrate *n)
{
    return n->next_usec;
}

/* Silent when nmd doesn't answer: that it has gone is told by whoever follows the streams. */
void nm_narrate_look(struct nm_narrate *n, struct nm_ctl *ctl, const char *id)
{
    _cleanup_json_ json_t *c = NULL;
    char target[128];

    (void)snprintf(target, sizeof target, "/v1/containers/%s", id);
    if (nm_api_try_get(ctl, target, TIMEOUT_USEC, &c) == 0)
        tell(n, ctl, c);
    plan(n);
}

/* A command that ended by itself has said what there is to say; the rest needs a word, as its
 * status alone (137, say) can mean several things. */
void nm_narrate_end(const json_t *c)
{
    char text[512];

    if (!nm_streq(nm_json_str(c, "exit_reason"), "exited") && *nm_container_end(c, text, sizeof text))
        nm_say("%s %s", nm_json_str(c, "id"), text);
}
