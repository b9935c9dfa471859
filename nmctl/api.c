/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See api.h. Each failure of a call is reported in a sentence that says what to do next. The reader may be a user who
 * has mistyped a path, or an operator whose nmd has crashed.
 */

#include "nmctl/api.h"

#include <assert.h>
#include <errno.h>

#include <grp.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "nmctl/json.h"
#include "nmctl/message.h"
#include "util/clock.h"
#include "util/error.h"
#include "util/json-text.h"
#include "util/parse.h"

/* Reports missing permission for the socket, and names the socket's group, whose members may connect. If the group is
 * root's, which users can't join, names the default group nmd. */
static void print_no_permission(const char *path)
{
    struct stat st;
    const struct group *g = stat(path, &st) == 0 ? getgrgid(st.st_gid) : NULL;
    const char *group = g && st.st_gid != 0 ? g->gr_name : "nmd";

    nm_message("permission denied on %s: only root and members of group %s may connect; run 'adduser USER %s', then "
               "log in again",
               path, group, group);
}

/* Returns whether systemd runs, as sd_booted() does. Without systemd, hints to systemctl or journalctl would be
 * useless. */
static bool has_systemd(void)
{
    return access("/run/systemd/system", F_OK) == 0;
}

/* Returns a hint to nmd's log. Without systemd the location of the log isn't known. */
static const char *where_log(void)
{
    return has_systemd() ? " ('journalctl -u nmd')" : "";
}

int nm_api_report_unreachable(const struct nm_ctl *ctl, int r)
{
    const char *path = ctl->socket_path;

    switch (r) {
    case -ENOENT:
    case -ECONNREFUSED:
    case -ENOTDIR:
        nm_message("nmd is not running at %s; start it with '%s' or 'nmd --socket PATH', or name its socket with "
                   "--socket or NMD_SOCKET",
                   path, has_systemd() ? "systemctl start nmd" : "nmd &");
        break;
    case -EACCES:
    case -EPERM:
        print_no_permission(path);
        break;
    case -ENAMETOOLONG:
        nm_message("the socket's path '%s' is too long: at most 107 bytes are allowed", path);
        break;
    case -ETIMEDOUT:
        nm_message("nmd at %s does not answer; see its log%s", path, where_log());
        break;
    case -ECONNRESET:
    case -EPIPE:
        nm_message("nmd at %s ended the connection before its answer was complete; see its log%s", path, where_log());
        break;
    case -EBADMSG:
    case -E2BIG:
    case -EPROTOTYPE:
        nm_message("invalid answer from %s; check that the program that listens there is nmd", path);
        break;
    default:
        nm_message("can't talk to nmd at %s: %s", path, strerror(-r));
    }
    return NM_CTL_UNREACHABLE;
}

/* Prints nmd's message without additions, because the message already names the object, its value and what is allowed.
 * An answer without a message comes from a program other than nmd, such as a proxy. */
int nm_api_report_refused(const struct nm_ctl *ctl, const struct nm_client_answer *a)
{
    _cleanup_json_ json_t *j = json_loadb(a->body, a->len, 0, NULL);
    const char *message = nm_json_str(j, "error.message");

    if (*message)
        nm_message("%s", message);
    else
        nm_message("nmd at %s answered with HTTP status %u without a message", ctl->socket_path, a->status);
    return NM_CTL_FAILED;
}

int nm_api_parse(const struct nm_ctl *ctl, const struct nm_client_answer *a, json_t **ret)
{
    json_t *j = json_loadb(a->body, a->len, 0, NULL);

    if (!j)
        return nm_api_report_unreachable(ctl, -EBADMSG);
    *ret = j;
    return NM_CTL_OK;
}

/* Converts the result r of a fetch to an exit status. ret: the parsed answer, unless it is a refusal. */
static int take_answer(const struct nm_ctl *ctl, int r, const struct nm_client_answer *a, json_t **ret)
{
    if (r < 0)
        return nm_api_report_unreachable(ctl, r);
    if (a->status >= 300)
        return nm_api_report_refused(ctl, a);
    return nm_api_parse(ctl, a, ret);
}

int nm_api_call(struct nm_ctl *ctl, const char *method, const char *target, json_t *body,
                json_t **ret)
{
    _cleanup_(nm_client_answer_done) struct nm_client_answer a = {0};
    _cleanup_free_ char *text = nm_json_text(body, JSON_COMPACT | JSON_REAL_PRECISION(12));
    struct nm_client_request q = {ctl->socket_path, method, target, text};

    if (body && !text)
        nm_message_oom();
    json_decref(body);
    return take_answer(ctl, nm_client_fetch(&q, NM_API_TIMEOUT_USEC, &a), &a, ret);
}

int nm_api_get(struct nm_ctl *ctl, const char *target, json_t **ret)
{
    return nm_api_call(ctl, "GET", target, NULL, ret);
}

int nm_api_get_by(struct nm_ctl *ctl, const char *target, uint64_t deadline_usec, json_t **ret)
{
    _cleanup_(nm_client_answer_done) struct nm_client_answer a = {0};
    const struct nm_client_request q = {ctl->socket_path, "GET", target, NULL};
    uint64_t left = nm_sub_u64(deadline_usec, nm_now_usec());
    int r = nm_client_fetch(&q, NM_MIN(NM_API_TIMEOUT_USEC, left), &a);

    if (r == -ETIMEDOUT && left <= NM_API_TIMEOUT_USEC)
        return NM_CTL_TIMED_OUT;
    return take_answer(ctl, r, &a, ret);
}

/* Gets optional data, such as a reason or a candidate for completion. Its failure isn't reported. */
int nm_api_try_get(struct nm_ctl *ctl, const char *target, uint64_t timeout_usec, json_t **ret)
{
    _cleanup_(nm_client_answer_done) struct nm_client_answer a = {0};
    const struct nm_client_request q = {ctl->socket_path, "GET", target, NULL};
    json_t *j;
    int r = nm_client_fetch(&q, timeout_usec, &a);

    if (r < 0)
        return r;
    if (a.status != 200)
        return -EREMOTEIO;
    j = json_loadb(a.body, a.len, 0, NULL);
    if (!j)
        return -EBADMSG;
    *ret = j;
    return 0;
}

/* ---- lists in parts -------------------------------------------------------------------------- */

/* Number of items in a part of a list: the maximum that nmd allows. A part with fewer items is the last part. */
#define PART 250u

static void part_target(bool all, const json_t *list, char *buf, size_t size)
{
    const json_t *last = json_array_get(list, json_array_size(list) - 1);

    (void)snprintf(buf, size, "/v1/containers?%slimit=%u&after=%" PRIu64, all ? "all=true&" : "", PART,
                   nm_json_u64(last, "number"));
}

/* Appends the part and releases it. Returns whether more parts may follow. */
static bool add_part(json_t *list, json_t *part)
{
    bool more = json_array_size(part) == PART;

    if (json_array_extend(list, part) < 0)
        nm_message_oom();
    json_decref(part);
    return more;
}

/* Gets the parts of a list, up to max entries. timeout_usec 0: uses nm_api_get(), which prints errors. Returns the
 * result of the last call. */
static int get_parts(struct nm_ctl *ctl, bool all, uint64_t timeout_usec, size_t max, json_t **ret)
{
    _cleanup_json_ json_t *list = json_array();
    json_t *part;
    char target[96];

    do {
        int r;
        part_target(all, list, target, sizeof target);
        r = timeout_usec > 0 ? nm_api_try_get(ctl, target, timeout_usec, &part) : nm_api_get(ctl, target, &part);
        if (r != 0)
            return r;
        if (!json_is_array(part)) {
            json_decref(part);
            return timeout_usec > 0 ? -EBADMSG : nm_api_report_unreachable(ctl, -EBADMSG);
        }
    } while (add_part(list, part) && json_array_size(list) < max);
    *ret = STEAL_PTR(list);
    return 0;
}

int nm_api_get_containers(struct nm_ctl *ctl, bool all, json_t **ret)
{
    return get_parts(ctl, all, 0, SIZE_MAX, ret);
}

int nm_api_try_get_containers(struct nm_ctl *ctl, bool all, uint64_t timeout_usec, json_t **ret)
{
    assert(timeout_usec > 0);
    return get_parts(ctl, all, timeout_usec, 4 * PART, ret);
}

int nm_api_container_target(const char *id, const char *action, char *buf, size_t size)
{
    /* Ids consist of the same characters as names, and these needn't be percent-encoded. */
    if (!nm_name_is_valid(id)) {
        nm_message("'%s' is not a container's id or name: 1 to 63 letters, digits, '.', '_' and '-' "
                   "are allowed, not "
                   "beginning with '.' or '-'",
                   id);
        return NM_CTL_USAGE;
    }
    (void)snprintf(buf, size, "/v1/containers/%s%s", id, action);
    return NM_CTL_OK;
}

/* Prints JSON: indented for a single object, on one line for each object of a sequence, which suits jq and grep. Uses
 * twelve digits, because more digits would show rounding errors of binary fractions such as 0.95. */
void nm_api_print_json(const json_t *j, bool one_line)
{
    size_t flags = JSON_REAL_PRECISION(12) | (one_line ? JSON_COMPACT : JSON_INDENT(2));
    _cleanup_free_ char *text = nm_json_text(j, flags);

    if (!text)
        nm_message_oom();
    (void)puts(text);
}

/* ---- a lost connection ----------------------------------------------------------------------- */

#define RETRY_USEC (250 * NM_USEC_PER_MSEC)
#define UPDATE_USEC NM_USEC_PER_SEC
/* Maximum time to wait for nmd. Within this time a log contains only the first message and the final message, because
 * messages in a log are repeated once a minute. */
#define GIVE_UP_USEC (60 * NM_USEC_PER_SEC)

bool nm_reconnect_is_loss(int r)
{
    return r == -ECONNRESET || r == -ECONNREFUSED || r == -ENOENT || r == -EPIPE || r == -ETIMEDOUT;
}

/* Updates the message once per second. Uses whole seconds, because constantly changing tenths would distract the
 * reader. */
static void print_how_long(struct nm_reconnect *a, uint64_t now)
{
    uint64_t passed = now - a->since_usec;
    char text[32];

    if (now - a->reported_usec < UPDATE_USEC || !nm_message_can_rewrite())
        return;
    a->reported_usec = now;
    nm_message_again("waiting for nmd to return, for %s so far",
                     nm_format_duration(passed - passed % NM_USEC_PER_SEC, text, sizeof text));
}

int nm_reconnect_wait(struct nm_reconnect *a, const struct nm_ctl *ctl, int r, const char *unaffected)
{
    uint64_t now = nm_now_usec();

    a->retry_usec = now + RETRY_USEC;
    if (a->since_usec == 0) {
        a->since_usec = a->reported_usec = now;
        nm_message("lost the connection to nmd at %s; %s%swaiting for nmd to return", ctl->socket_path, unaffected,
                   *unaffected ? "; " : "");
        return NM_CTL_OK;
    }
    if (now - a->since_usec > GIVE_UP_USEC)
        return nm_api_report_unreachable(ctl, r);
    print_how_long(a, now);
    return NM_CTL_OK;
}

void nm_reconnect_done(struct nm_reconnect *a)
{
    nm_message("nmd is back");
    a->since_usec = 0;
}
