/* SPDX-License-Identifier: Apache-2.0 */

/* See pattern.h. */

#define PCRE2_CODE_UNIT_WIDTH 8

#include "localize/pattern/pattern.h"

#include <pcre2.h>

#include "localize/pattern/java-regex.h"
#include "util/error.h"
#include "util/utf8.h"

/* Limit for expressions that would practically never end on some names. A million steps take some milliseconds. */
#define MATCH_STEPS 1000000U
#define MATCH_HEAP_KIB 16384U
#define MAX_LENGTH 4096U

struct nm_pattern {
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *limits;
    bool is_ascii; /* the translation is valid only for names in ASCII */
};

struct nm_pattern *nm_pattern_free(struct nm_pattern *p)
{
    if (!p)
        return NULL;
    pcre2_match_context_free(p->limits);
    pcre2_match_data_free(p->data);
    pcre2_code_free(p->code);
    free(p);
    return NULL;
}

/* Compiles an expression. Disables \C, because \C could split a character. */
static int compile(const char *text, uint32_t anchors, struct nm_pattern **ret, char **ret_message)
{
    const uint32_t options = anchors | PCRE2_UTF | PCRE2_NEVER_BACKSLASH_C;
    _cleanup_(nm_pattern_freep) struct nm_pattern *p = calloc(1, sizeof *p);
    _cleanup_free_ char *translated = NULL;
    PCRE2_SIZE at;
    int code, r;

    if (!p)
        return -ENOMEM;
    if (strlen(text) > MAX_LENGTH)
        return nm_fail(ret_message, -EINVAL, "the pattern is longer than %u bytes", MAX_LENGTH);
    r = nm_java_regex_translate(text, &translated, &p->is_ascii, ret_message);
    if (r < 0)
        return r;
    p->code = pcre2_compile((PCRE2_SPTR)translated, PCRE2_ZERO_TERMINATED, options, &code, &at, NULL);
    if (!p->code) {
        char reason[128] = "";

        (void)pcre2_get_error_message(code, (PCRE2_UCHAR *)reason, sizeof reason);
        return nm_fail(ret_message, -EINVAL, "can't use the pattern '%s': %s", text, reason);
    }
    p->data = pcre2_match_data_create_from_pattern(p->code, NULL);
    p->limits = pcre2_match_context_create(NULL);
    if (!p->data || !p->limits)
        return -ENOMEM;
    (void)pcre2_set_match_limit(p->limits, MATCH_STEPS);
    (void)pcre2_set_heap_limit(p->limits, MATCH_HEAP_KIB);
    *ret = STEAL_PTR(p);
    return 0;
}

int nm_pattern_new(const char *text, struct nm_pattern **ret, char **ret_message)
{
    return compile(text, PCRE2_ANCHORED | PCRE2_ENDANCHORED, ret, ret_message);
}

int nm_pattern_new_find(const char *text, struct nm_pattern **ret, char **ret_message)
{
    return compile(text, 0, ret, ret_message);
}

/* Converts a name, which may contain any bytes, to UTF-8. Each invalid byte becomes U+FFFD. */
static char *make_text(const char *name)
{
    char *text = malloc(strlen(name) * 3 + 1), *to = text;

    while (to && *name) {
        size_t n = nm_utf8_size(name);

        if (n > 0)
            to = mempcpy(to, name, n);
        else
            to = mempcpy(to, "\xef\xbf\xbd", 3);
        name += n > 0 ? n : 1;
    }
    if (to)
        *to = '\0';
    return text;
}

static bool is_ascii(const char *name)
{
    while (*name && (unsigned char)*name < 0x80)
        name++;
    return !*name;
}

int nm_pattern_match(struct nm_pattern *p, const char *name)
{
    _cleanup_free_ char *text = make_text(name);
    int r;

    if (!text)
        return -ENOMEM;
    if (p->is_ascii && !is_ascii(name))
        return -EILSEQ;
    r = pcre2_match(p->code, (PCRE2_SPTR)text, strlen(text), 0, PCRE2_NO_UTF_CHECK, p->data, p->limits);
    if (r >= 0)
        return 1;
    return r == PCRE2_ERROR_NOMATCH ? 0 : r == PCRE2_ERROR_NOMEMORY ? -ENOMEM : -ETIMEDOUT;
}
