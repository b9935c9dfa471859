/* SPDX-License-Identifier: Apache-2.0 */

/* See container-json.h. This file generates the texts about a container that several verbs print, so that the texts
 * are the same everywhere. */

#include "nmctl/container-json.h"

#include <signal.h>
#include <string.h>

#include "nmctl/json.h"
#include "nmctl/nmctl.h"
#include "nmctl/message.h"
#include "util/clock.h"
#include "util/parse.h"

/* Returns whether the word contains characters that are special in a shell. */
static bool needs_quotes(const char *s)
{
    return !*s ||
           s[strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=:,./@%")];
}

/* Prints the word in single quotes, in which a shell interprets no characters. A single quote in the word is printed
 * outside of the quotes. */
static void print_quoted(FILE *f, const char *s)
{
    if (!needs_quotes(s)) {
        (void)fputs(s, f);
        return;
    }
    (void)fputc('\'', f);
    for (; *s; s++) {
        if (*s == '\'')
            (void)fputs("'\\''", f);
        else
            (void)fputc(*s, f);
    }
    (void)fputc('\'', f);
}

/* Returns the command in shell syntax, so that "a b" can be distinguished from "a" "b". */
char *nm_container_command(const json_t *c)
{
    const json_t *word, *words = nm_json_at(c, nm_json_has(c, "command") ? "command" : "command_head");
    char *text = NULL;
    size_t size = 0, i;
    FILE *f = open_memstream(&text, &size);

    if (!f)
        nm_message_oom();
    json_array_foreach(words, i, word) {
        if (i > 0)
            (void)fputc(' ', f);
        print_quoted(f, json_string_value(word) ? json_string_value(word) : "");
    }
    if (fclose(f) != 0)
        nm_message_oom();
    return text;
}

const char *nm_container_age(const json_t *c, char *buf, size_t size)
{
    uint64_t from =
        nm_json_u64(c, nm_json_has(c, "started_usec") ? "started_usec" : "submitted_usec");
    uint64_t to =
        nm_json_has(c, "finished_usec") ? nm_json_u64(c, "finished_usec") : nm_realtime_usec();
    uint64_t age = to > from ? to - from : 0;

    /* Omit tenths of a second for longer times, because they make a table hard to read. */
    if (age > 10 * NM_USEC_PER_SEC)
        age -= age % NM_USEC_PER_SEC;
    return nm_format_duration(age, buf, size);
}

const char *nm_container_state_word(const char *state)
{
    return nm_streq(state, "SCHEDULED") ? "QUEUED" : nm_streq(state, "COMPLETED") ? "ENDED" : state;
}

const char *nm_container_display_state(const json_t *c, char *buf, size_t size)
{
    const char *text = nm_json_str(c, "state_text"), *reason = nm_json_str(c, "exit_reason");

    if (*text)
        return text;
    (void)snprintf(buf, size, "%s%s%s%s", nm_container_state_word(nm_json_str(c, "state")), *reason ? " (" : "", reason,
                   *reason ? ")" : "");
    return buf;
}

bool nm_container_is_guaranteed(const json_t *c)
{
    return nm_streq(nm_json_str(c, "execution_type"), "GUARANTEED");
}

const char *nm_container_type_word(const json_t *c)
{
    return nm_container_is_guaranteed(c) ? "guaranteed" : "opportunistic";
}

/* Returns the style of a state: running is green, failed is red, intermediate states are yellow. A successful end has
 * no colour. */
enum nm_style nm_container_state_style(const json_t *c)
{
    const char *state = nm_json_str(c, "state"), *reason = nm_json_str(c, "exit_reason");

    if (nm_streq(state, "RUNNING"))
        return NM_STYLE_GOOD;
    if (nm_streq(state, "COMPLETED"))
        return nm_streq(reason, "exited") && nm_json_u64(c, "exit_code") == 0 ? NM_STYLE_DIM
                                                                              : NM_STYLE_BAD;
    return NM_STYLE_WARN;
}

/* Returns the id and, if the container has a name, the name. Users know the name, and other commands may need the
 * id. */
const char *nm_container_title(const json_t *c, char *buf, size_t size)
{
    const char *name = nm_json_str(c, "name");

    (void)snprintf(buf, size, "%s%s%s%s", nm_json_str(c, "id"), *name ? " (" : "", name,
                   *name ? ")" : "");
    return buf;
}

/* Texts for the ends of containers. nmd's message with the command, user or limit is appended, if nmd has sent a
 * message. */
static const struct {
    const char *reason, *what, *why;
} ends[] = {
    {"oom-killed", "was killed by the kernel: it ran out of memory", ""},
    {"preempted", "was killed to give its resources back", ""},
    {"pause-deadline", "was killed: it had been paused for too long", ""},
    {"killed", "was killed", ""},
    {"shed", "was discarded from the queue", ""},
    {"drained", "was ended: the node is being drained", ""},
    {"command-not-found", "was not run", "its command was not found"},
    {"permission-denied", "was not run", "no permission to execute its command"},
    {"bad-user", "was not run", "can't run as its user"},
    {"bad-workdir", "was not run", "its working directory can't be entered"},
    {"launch-failed", "was not run", ""},
    {"localization-failed", "was not run", "its resources could not be made available"},
    {"lost", "was lost", ""},
    {"stopped", "was stopped through systemd", ""},
};

const char *nm_container_end(const json_t *c, char *buf, size_t size)
{
    const char *reason = nm_json_str(c, "exit_reason"), *why = nm_json_str(c, "message");
    int signal = (int)nm_json_u64(c, "exit_signal"), n = 0;

    buf[0] = '\0';
    if (nm_streq(reason, "exited"))
        n = snprintf(buf, size, "exited with status %d", (int)nm_json_u64(c, "exit_code"));
    else if (nm_streq(reason, "signaled"))
        n = snprintf(buf, size, "was ended by signal %d (%s)", signal, strsignal(signal));
    for (size_t i = 0; i < NM_ARRAY_SIZE(ends); i++)
        if (nm_streq(ends[i].reason, reason)) {
            n = snprintf(buf, size, "%s", ends[i].what);
            why = *why ? why : ends[i].why;
        }
    if (n > 0 && *why && (size_t)n < size)
        (void)snprintf(buf + n, size - (size_t)n, ": %s", why);
    return buf;
}

int nm_container_exit_status(const json_t *c)
{
    const char *reason = nm_json_str(c, "exit_reason");

    if (nm_json_has(c, "exit_code"))
        return (int)nm_json_u64(c, "exit_code") & 0xff;
    if (nm_streq(reason, "command-not-found"))
        return 127;
    return nm_streq(reason, "permission-denied") ? 126 : NM_CTL_NOT_RUN;
}
