/* SPDX-License-Identifier: Apache-2.0 */

/* See answer-xml.h. The names of elements are names of members, which are constants of the code. The text of elements
 * may be any UTF-8. */

#include "rpc/local/answer-xml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "util/macros.h"

#define WHITE " \t"
#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* ---- the choice --------------------------------------------------------------------------- */

/* Returns the q parameter of a media range, 1 by default. */
static double quality_of(const char *parameters, size_t n)
{
    for (const char *p = parameters, *end = parameters + n; p < end; p++)
        if (*p == ';' && strncasecmp(p + 1 + strspn(p + 1, WHITE), "q=", 2) == 0)
            return strtod(p + 1 + strspn(p + 1, WHITE) + 2, NULL);
    return 1;
}

/* Returns the quality of a media type of the form application/NAME: that of the most specific range. */
static double quality_for(const char *accept, const char *name)
{
    const char *const ranges[] = {name, "application/*", "*/*"};

    for (size_t i = 0; i < NM_ARRAY_SIZE(ranges); i++)
        for (const char *p = accept; *p; p += strcspn(p, ","), p += *p == ',') {
            const char *type = p + strspn(p, WHITE);
            size_t n = strcspn(type, ",; \t");

            if (n == strlen(ranges[i]) && strncasecmp(type, ranges[i], n) == 0)
                return quality_of(type + n, strcspn(type + n, ","));
        }
    return 0;
}

bool nm_answer_accept_prefers_xml(const char *accept)
{
    return quality_for(accept, "application/xml") > quality_for(accept, "application/json");
}

bool nm_answer_wants_xml(struct MHD_Connection *connection)
{
    const char *accept = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);

    return accept && nm_answer_accept_prefers_xml(accept);
}

/* ---- the document ------------------------------------------------------------------------- */

static void add(struct nm_answer_text *a, const char *text)
{
    nm_answer_text_add(a, text, strlen(text));
}

/* Returns whether the text begins with U+FFFE or U+FFFF. */
static bool is_noncharacter(const char *text, size_t n)
{
    return n >= 3 && memcmp(text, "\xef\xbf", 2) == 0 && (unsigned char)text[2] >= 0xbe;
}

/* Adds text. XML can't contain most control characters, nor U+FFFE and U+FFFF, not even escaped, so each is replaced by
 * U+FFFD. A carriage return is escaped, because a parser would read it as a newline. */
static void add_escaped(struct nm_answer_text *a, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)text[i];

        if (c == '<' || c == '>' || c == '&')
            add(a, c == '<' ? "&lt;" : c == '>' ? "&gt;" : "&amp;");
        else if (c == '\r')
            add(a, "&#13;");
        else if (c < 0x20 && c != '\n' && c != '\t')
            add(a, REPLACEMENT);
        else if (is_noncharacter(&text[i], n - i)) {
            add(a, REPLACEMENT);
            i += 2;
        } else
            nm_answer_text_add(a, &text[i], 1);
    }
}

static void add_tag(struct nm_answer_text *a, const char *before, const char *name)
{
    add(a, before);
    add(a, name);
    add(a, ">");
}

static void add_element(struct nm_answer_text *a, const char *name, const json_t *j);

static void add_value(struct nm_answer_text *a, const json_t *j)
{
    const char *name;
    json_t *member;
    char number[32];

    if (json_is_object(j))
        json_object_foreach((json_t *)j, name, member)
            add_element(a, name, member);
    else if (json_is_string(j))
        add_escaped(a, json_string_value(j), json_string_length(j));
    else if (json_is_integer(j)) {
        (void)snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(j));
        add(a, number);
    } else if (json_is_boolean(j))
        add(a, json_is_true(j) ? "true" : "false");
}

static void add_element(struct nm_answer_text *a, const char *name, const json_t *j)
{
    if (json_is_array(j)) {
        for (size_t i = 0; i < json_array_size(j); i++)
            add_element(a, name, json_array_get(j, i));
        return;
    }
    if (json_is_null(j))
        return;
    add_tag(a, "<", name);
    add_value(a, j);
    add_tag(a, "</", name);
}

void nm_answer_text_add_xml(struct nm_answer_text *a, json_t *j)
{
    /* Hadoop answers with a list of this class, which in JSON has one item. */
    const bool is_logs = json_object_get(j, "containerLogsInfo");

    if (!j && a->error == 0)
        a->error = -ENOMEM;
    add(a, "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>");
    if (is_logs)
        add(a, "<containerLogsInfoes>");
    add_value(a, j);
    if (is_logs)
        add(a, "</containerLogsInfoes>");
    json_decref(j);
}
