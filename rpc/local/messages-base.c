/* SPDX-License-Identifier: Apache-2.0 */

/* Code for both directions of messages: errors, and numbers of vcores. */

#include "rpc/local/messages.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>

#include "rpc/local/json-make.h"

/* Writes a whole number as 2 instead of 2.0, for readability. */
json_t *nm_messages_vcores(uint64_t milli)
{
    return milli % 1000 == 0 ? json_integer((json_int_t)(milli / 1000))
                             : json_real((double)milli / 1000.0);
}

static const struct {
    unsigned http;
    const char *code;
} outcomes[] = {
    [0] = {500, "internal"},
    [NM_AGENT_E_INVALID] = {400, "invalid"},
    [NM_AGENT_E_FORBIDDEN] = {403, "forbidden"},
    [NM_AGENT_E_NOT_FOUND] = {404, "not-found"},
    [NM_AGENT_E_CONFLICT] = {409, "conflict"},
    [NM_AGENT_E_TOO_LARGE] = {422, "too-large"},
    [NM_AGENT_E_QUEUE_FULL] = {429, "queue-full"},
    [NM_AGENT_E_UNAVAILABLE] = {503, "unavailable"},
};

static size_t outcome_index(int outcome)
{
    return outcome > 0 && (size_t)outcome < NM_ARRAY_SIZE(outcomes) ? (size_t)outcome : 0;
}

unsigned nm_messages_http_status(int outcome)
{
    return outcomes[outcome_index(outcome)].http;
}

const char *nm_messages_error_code(int outcome)
{
    return outcomes[outcome_index(outcome)].code;
}

json_t *nm_messages_error(const struct nm_problem *p, const char *code)
{
    return json_pack("{s:{s:s, s:o, s:o, s:o}}", "error", "code",
                     code ? code : nm_messages_error_code((int)p->outcome), "thing",
                     nm_make_string(p->thing), "value", nm_make_string(p->value), "message",
                     nm_make_string(p->message));
}

/* Returns an error in Hadoop's format. Clients of Hadoop's interface evaluate the exception's name. A message
 * that begins with a class of Java names the cause itself. */
json_t *nm_messages_remote_exception(const struct nm_problem *p)
{
    const char *name = p->outcome == NM_AGENT_E_NOT_FOUND   ? "NotFoundException"
                       : p->outcome == NM_AGENT_E_INVALID   ? "BadRequestException"
                       : p->outcome == NM_AGENT_E_FORBIDDEN ? "ForbiddenException"
                                                            : "WebAppException";
    char message[sizeof p->message + 32], class[80];

    (void)snprintf(message, sizeof message, "%s%s",
                   strncmp(p->message, "java.", strlen("java.")) == 0 ? "" : "java.lang.Exception: ", p->message);
    (void)snprintf(class, sizeof class, "org.apache.hadoop.yarn.webapp.%s", name);
    return json_pack("{s:{s:s, s:o, s:s}}", "RemoteException", "exception", name, "message",
                     nm_make_string(message), "javaClassName", class);
}

/* Parses an error. An unknown code, for instance from a newer nmd, becomes outcome 0, and the message is kept. */
int nm_messages_parse_error(const json_t *j, struct nm_problem *ret)
{
    const char *code, *thing, *value, *message;
    int outcome = 0;

    if (json_unpack((json_t *)j, "{s:{s:s, s:s, s:s, s:s}}", "error", "code", &code, "thing",
                    &thing, "value", &value, "message", &message) < 0)
        return -EBADMSG;
    for (int o = NM_AGENT_E_INVALID; o <= NM_AGENT_E_UNAVAILABLE; o++)
        if (nm_streq(nm_messages_error_code(o), code))
            outcome = o;
    (void)nm_messages_problem(ret, (enum nm_agent_outcome)outcome, thing, value, "%s", message);
    return 0;
}

/* Shortens text from a client. Replaces control characters, because the text is shown on terminals and in the
 * journal. */
void nm_messages_shorten(char *to, size_t size, const char *from)
{
    size_t n = strlen(from), keep = n < size ? n : size - 4;

    assert(size >= 5);
    while (n >= size && keep > 0 && ((unsigned char)from[keep] & 0xc0) == 0x80)
        keep--; /* don't split a character */
    for (size_t i = 0; i < keep; i++)
        to[i] = iscntrl((unsigned char)from[i]) ? '?' : from[i];
    strcpy(to + keep, n < size ? "" : "...");
}

int nm_messages_problem(struct nm_problem *ret, enum nm_agent_outcome outcome, const char *thing,
                        const char *value, const char *format, ...)
{
    char text[1024];
    va_list ap;

    assert(ret && thing && (int)outcome >= 0);
    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    ret->outcome = outcome;
    nm_messages_shorten(ret->thing, sizeof ret->thing, thing);
    nm_messages_shorten(ret->value, sizeof ret->value, value ? value : "");
    nm_messages_shorten(ret->message, sizeof ret->message, text);
    return (int)outcome;
}
