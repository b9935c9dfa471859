/* SPDX-License-Identifier: Apache-2.0 */

/* See pattern.h. */

#define PCRE2_CODE_UNIT_WIDTH 8

#include "localize/pattern.h"

#include <pcre2.h>

#include "util/error.h"

/* There are expressions that take for ever on some names: a million steps are some milliseconds. */
#define MATCH_STEPS 1000000U
#define MATCH_HEAP_KIB 16384U
#define MAX_LENGTH 4096U

struct nm_pattern {
    pcre2_code *code;
    pcre2_match_data *data;
    pcre2_match_context *limits;
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

/* UTF without trust: names in archives may be anything, and are matched as far as they are text. \C could split a
 * character. */
int nm_pattern_new(const char *text, struct nm_pattern **ret, char **ret_message)
{
    const uint32_t options = PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_UTF | PCRE2_MATCH_INVALID_UTF |
                             PCRE2_NEVER_BACKSLASH_C;
    _cleanup_(nm_pattern_freep) struct nm_pattern *p = calloc(1, sizeof *p);
    PCRE2_SIZE at;
    int code;

    if (!p)
        return -ENOMEM;
    if (strlen(text) > MAX_LENGTH)
        return nm_fail(ret_message, -EINVAL, "its pattern is longer than %u bytes", MAX_LENGTH);
    p->code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, options, &code, &at, NULL);
    if (!p->code) {
        char reason[128] = "";

        (void)pcre2_get_error_message(code, (PCRE2_UCHAR *)reason, sizeof reason);
        return nm_fail(ret_message, -EINVAL, "its pattern is no regular expression: %s (at character %zu of %s)",
                       reason, at, text);
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

int nm_pattern_match(struct nm_pattern *p, const char *name)
{
    int r = pcre2_match(p->code, (PCRE2_SPTR)name, strlen(name), 0, 0, p->data, p->limits);

    if (r >= 0)
        return 1;
    return r == PCRE2_ERROR_NOMATCH ? 0 : -ETIMEDOUT;
}
