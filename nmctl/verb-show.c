/* SPDX-License-Identifier: Apache-2.0 */

/*
 * `nmctl show`: prints all data of a container, one value per line. A missing value has no line. The output for an
 * older or newer nmd, which sends fewer or more values, therefore has no gaps.
 */

#include <inttypes.h>
#include <stdarg.h>

#include "nmctl/api.h"
#include "nmctl/container-json.h"
#include "nmctl/json.h"
#include "nmctl/nmctl.h"
#include "nmctl/message.h"
#include "util/clock.h"
#include "util/parse.h"

#define LABEL 12

/* Prints a line. On a terminal the line is wrapped between words and indented after the label. In a pipe it isn't
 * wrapped. */
static void vline(const struct nm_term *term, bool whole_word, const char *label, const char *format, va_list ap)
{
    _cleanup_free_ char *text = nm_xvasprintf(format, ap), *whole = NULL;

    if (asprintf(&whole, "%s%-*s%s%s", nm_term_on(term, NM_STYLE_BOLD), LABEL, label, nm_term_off(term, NM_STYLE_BOLD),
                 nm_term_clean(text)) < 0)
        nm_message_oom();
    (void)nm_term_wrap(stdout, whole, whole_word ? 0 : term->width, LABEL);
}

nm_printf(3, 4) static void line(const struct nm_term *term, const char *label, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    vline(term, false, label, format, ap);
    va_end(ap);
}

/* Prints a path or an id. It must not be wrapped between words, because users copy it. The terminal continues it on the
 * next line. */
nm_printf(3, 4) static void line_word(const struct nm_term *term, const char *label, const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    vline(term, true, label, format, ap);
    va_end(ap);
}

/* Prints a time: "2025-11-22 12:00:01 (3m05s ago)". */
static void line_time(const struct nm_term *term, const char *label, const json_t *c,
                      const char *member)
{
    uint64_t at = nm_json_u64(c, member), now = nm_realtime_usec();
    time_t t = (time_t)(at / NM_USEC_PER_SEC);
    char when[32] = "", reconnect[32];
    struct tm tm;

    if (!nm_json_has(c, member) || !localtime_r(&t, &tm))
        return;
    (void)strftime(when, sizeof when, "%F %T", &tm);
    if (at > now)
        line(term, label, "%s (in %s)", when, nm_format_duration(at - now, reconnect, sizeof reconnect));
    else
        line(term, label, "%s (%s ago)", when, nm_format_duration(now - at, reconnect, sizeof reconnect));
}

static void line_text(const struct nm_term *term, const char *label, const json_t *c,
                      const char *member)
{
    if (*nm_json_str(c, member))
        line_word(term, label, "%s", nm_json_str(c, member));
}

/* Prints use and request together, because either figure has little meaning without the other. */
static void show_use(const struct nm_term *term, const json_t *c)
{
    double used = nm_json_num(c, "cpu_used_millicores") / 1000, vcores = nm_json_num(c, "vcores");
    char a[32], b[32], d[32];

    line(term, "memory", "%s of %s, peak %s",
         nm_format_size(nm_json_u64(c, "memory_used_bytes"), a, sizeof a),
         nm_format_size(nm_json_u64(c, "memory_bytes"), b, sizeof b),
         nm_format_size(nm_json_u64(c, "memory_peak_bytes"), d, sizeof d));
    if (nm_json_u64(c, "swap_bytes") > 0)
        line(term, "swap", "%s", nm_format_size(nm_json_u64(c, "swap_bytes"), a, sizeof a));
    line(term, "cpu", "%.2f core%s used, %g vcore%s requested, %s in total", used, nm_plural(used), vcores,
         nm_plural(vcores),
         nm_format_duration(nm_json_u64(c, "cpu_time_usec"), a, sizeof a));
}

/* Prints the state, and for a queued container the reason. */
static void show_state(struct nm_ctl *ctl, const struct nm_term *term, const json_t *c)
{
    _cleanup_json_ json_t *status = NULL;
    const char *reason = nm_json_str(c, "hold");
    enum nm_style style = nm_container_state_style(c);
    char why[1024], state[64];

    line(term, "type", "%s%s", nm_container_type_word(c),
         nm_json_bool(c, "exempt") ? ", exempt from preemption" : "");
    printf("%s%-*s%s%s%s%s\n", nm_term_on(term, NM_STYLE_BOLD), LABEL, "state",
           nm_term_off(term, NM_STYLE_BOLD), nm_term_on(term, style),
           nm_container_display_state(c, state, sizeof state),
           nm_term_off(term, style));
    line_text(term, "progress", c, "progress");
    if (nm_json_has(c, "queue_position"))
        line(term, "queue", "position %" PRIu64, nm_json_u64(c, "queue_position"));
    if (*reason) {
        (void)nm_api_try_get(ctl, "/v1/status", NM_API_TIMEOUT_USEC, &status);
        nm_queue_reason_text(reason, c, status, why, sizeof why);
        line(term, nm_streq(nm_json_str(c, "state"), "PAUSED") ? "paused" : "queued", "%s", why);
    }
}

/* Prints the end. If the command never ran, exit_code is null, and exit_reason contains the reason. */
static void show_end(const struct nm_term *term, const json_t *c)
{
    char ran[32];

    line_time(term, "ended", c, "finished_usec");
    if (!nm_json_has(c, "exit_reason"))
        return;
    if (nm_json_has(c, "exit_code"))
        line(term, "exit", "%s, status %" PRIu64, nm_json_str(c, "exit_reason"),
             nm_json_u64(c, "exit_code"));
    else
        line(term, "exit", "%s", nm_json_str(c, "exit_reason"));
    if (nm_json_has(c, "exit_decision_number"))
        line(term, "cause", "%s, decision %" PRIu64, nm_json_str(c, "exit_cause"),
             nm_json_u64(c, "exit_decision_number"));
    else if (nm_json_has(c, "exit_cause"))
        line_text(term, "cause", c, "exit_cause");
    if (nm_json_bool(c, "keep_result"))
        line(term, "kept", "until %s has acknowledged its end", nm_json_str(c, "owner"));
    if (nm_json_has(c, "started_usec"))
        line(term, "ran", "%s", nm_container_age(c, ran, sizeof ran));
}

/* Prints the values in this order: identity, state and reason, command, resources, times. */
static void show(struct nm_ctl *ctl, const struct nm_term *term, const json_t *c)
{
    _cleanup_free_ char *command = nm_container_command(c);
    char text[32];

    line_text(term, "id", c, "id");
    line(term, "number", "%" PRIu64, nm_json_u64(c, "number"));
    line_text(term, "name", c, "name");
    line_text(term, "app", c, "app");
    show_state(ctl, term, c);
    line(term, "command", "%s", command);
    line_text(term, "user", c, "user");
    line_text(term, "workdir", c, "workdir");
    line_text(term, "logs", c, "log_dir");
    show_use(term, c);
    if (nm_json_u64(c, "pid") > 0)
        line(term, "pid", "%" PRIu64, nm_json_u64(c, "pid"));
    line_text(term, "cgroup", c, "cgroup");
    line_text(term, "owner", c, "owner");
    if (nm_json_u64(c, "min_runtime_usec") > 0)
        line(term, "min-runtime", "%s",
             nm_format_duration(nm_json_u64(c, "min_runtime_usec"), text, sizeof text));
    if (nm_json_u64(c, "expected_usec") > 0)
        line(term, "expected", "%s",
             nm_format_duration(nm_json_u64(c, "expected_usec"), text, sizeof text));
    line_time(term, "submitted", c, "submitted_usec");
    line_time(term, "started", c, "started_usec");
    line_time(term, "paused", c, "paused_usec");
    line_time(term, nm_container_is_guaranteed(c) ? "resume at" : "kill at", c, "pause_deadline_usec");
    show_end(term, c);
    if (*nm_json_str(c, "message"))
        line(term, "message", "%s", nm_json_str(c, "message"));
}

/* `nmctl inspect`, for users of docker: the same as show --json. */
int nm_inspect_verb(struct nm_ctl *ctl)
{
    ctl->args.json = true;
    return nm_show_verb(ctl);
}

/* Shows all containers that exist. Returns the most severe status. If nmd can't be reached, stops at the first
 * container. */
int nm_show_verb(struct nm_ctl *ctl)
{
    struct nm_term term;
    int worst = NM_CTL_OK;

    nm_term_init(&term, STDOUT_FILENO, ctl->args.no_color);
    for (unsigned i = 0; i < ctl->n_operands; i++) {
        _cleanup_json_ json_t *c = NULL;
        char target[128];
        int r = nm_api_container_target(ctl->operands[i], "", target, sizeof target);

        if (r == NM_CTL_OK)
            r = nm_api_get(ctl, target, &c);
        worst = NM_MAX(worst, r);
        if (r == NM_CTL_UNREACHABLE)
            break;
        if (r != NM_CTL_OK)
            continue;
        if (ctl->args.json) {
            nm_api_print_json(c, false);
            continue;
        }
        if (i > 0)
            (void)fputc('\n', stdout);
        show(ctl, &term, c);
    }
    return worst;
}
