/* SPDX-License-Identifier: Apache-2.0 */

/* See container.h: what several verbs say of a container is said here, in the same words. */

#include "nmctl/container.h"

#include "nmctl/json.h"
#include "nmctl/say.h"
#include "util/clock.h"
#include "util/parse.h"

/* Characters that no shell looks at twice. */
static bool needs_quotes(const char *s)
{
    return !*s ||
           s[strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=:,./@%")];
}

/* Single quotes, the only ones in which a shell looks at nothing; one in the text is put outside of
 * them. */
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

/* As it could be pasted into a shell, so that "a b" and "a" "b" are told apart. */
char *nm_container_command(const json_t *c)
{
    const json_t *word;
    char *text = NULL;
    size_t size = 0, i;
    FILE *f = open_memstream(&text, &size);

    if (!f)
        nm_say_oom();
    json_array_foreach(nm_json_at(c, "command"), i, word) {
        if (i > 0)
            (void)fputc(' ', f);
        print_quoted(f, json_string_value(word) ? json_string_value(word) : "");
    }
    if (fclose(f) != 0)
        nm_say_oom();
    return text;
}

const char *nm_container_age(const json_t *c, char *buf, size_t size)
{
    uint64_t from =
        nm_json_u64(c, nm_json_has(c, "started_usec") ? "started_usec" : "submitted_usec");
    uint64_t to =
        nm_json_has(c, "finished_usec") ? nm_json_u64(c, "finished_usec") : nm_realtime_usec();
    uint64_t age = to > from ? to - from : 0;

    /* Tenths of a second only make a table of ages restless. */
    if (age > 10 * NM_USEC_PER_SEC)
        age -= age % NM_USEC_PER_SEC;
    return nm_format_duration(age, buf, size);
}

double nm_container_used_vcores(const json_t *c)
{
    double asked = nm_json_num(c, "cpu_request_millicores");

    return asked > 0 ? nm_json_num(c, "cpu_millicores") / asked * nm_json_num(c, "vcores") : 0;
}

/* Green is what runs, red what failed, yellow all on its way; what ended well needs nobody's
 * eye. */
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

/* Both, where there is a name: a person knows the one, the next command may need the other. */
const char *nm_container_title(const json_t *c, char *buf, size_t size)
{
    const char *name = nm_json_str(c, "name");

    (void)snprintf(buf, size, "%s%s%s%s", nm_json_str(c, "id"), *name ? " (" : "", name,
                   *name ? ")" : "");
    return buf;
}
