/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Reads one INI text into a struct nm_config. inih parses the grammar, and gets the text line by line from next_line().
 * Without next_line(), inih would not tell the handler the number of a line, would split a long line, and would read an
 * indented key as a continuation of the value above. All errors are reported together, each with file, line, key, value
 * and the allowed values.
 */

#include "agent/config/config-keys.h"

#include <assert.h>
#include <ctype.h>
#include <ini.h>
#include <stdarg.h>

#include "util/error.h"

/* Maximum length of text from a file in messages. (The maximum length of a line is inih's: 200 bytes in Debian's
 * build.) */
#define SHOWN_MAX 80
#define NOT_INI "neither \"[section]\" nor \"key = value\" nor a comment"

struct reading {
    struct nm_config *config;
    struct nm_config_source *sources;
    const char *file;
    const char *at, *end;  /* rest of the text */
    const char *line_text; /* the current line */
    size_t line_len;
    unsigned line;
    unsigned *set_on_line; /* line of each key in this file; 0 if the key was not set yet */
    bool is_bad;   /* the current line has an error */
    bool skip_section; /* the current section is unknown, so its lines are skipped */
    bool oom;
    struct nm_refusals refusals;
};

nm_printf(3, 4) static void fail(struct reading *s, const char *what, const char *format, ...)
{
    _cleanup_free_ char *reason = NULL;
    char *message = NULL;
    va_list ap;
    int r;

    if (s->is_bad)
        return;
    s->is_bad = true;
    va_start(ap, format);
    reason = nm_strdup_vprintf(format, ap);
    va_end(ap);
    if (!reason) {
        s->oom = true;
        return;
    }
    r = nm_fail(&message, -EINVAL, "%s:%u: %s: %s", s->file, s->line, what, reason);
    s->oom |= !message || nm_refusals_add(&s->refusals, r, message) < 0;
}

/* Copies text of a file to buf for a message. Shortens the text, and replaces control characters by '?'. */
static const char *shown(const char *text, size_t len, char *buf, size_t size)
{
    size_t n = NM_MIN(len, size - 4);

    assert(size > 0);
    for (size_t i = 0; i < n; i++)
        buf[i] = (char)(isprint((unsigned char)text[i]) ? text[i] : '?');
    memcpy(buf + n, n < len ? "..." : "", n < len ? 4 : 1);
    return buf;
}

static void fail_line(struct reading *s, const char *reason)
{
    char text[SHOWN_MAX];

    fail(s, shown(s->line_text, s->line_len, text, sizeof text), "%s", reason);
}

/* Marks the values of one key, or of all keys of a section, as unknown. */
static void drop_values(struct reading *s, const char *section, const struct nm_config_key *key)
{
    for (size_t i = 0; s->sources && i < nm_config_n_keys; i++)
        if (&nm_config_keys[i] == key || (section && nm_streq(nm_config_keys[i].section, section)))
            s->sources[i].is_unknown = true;
}

static void fail_section(struct reading *s, const char *section)
{
    char text[SHOWN_MAX], what[SHOWN_MAX + 4];
    const char *near = nm_config_nearest_section(section);

    drop_values(s, near, NULL);
    (void)snprintf(what, sizeof what, "[%s]", shown(section, strlen(section), text, sizeof text));
    if (near)
        fail(s, what, "no such section, did you mean [%s]?", near);
    else
        fail(s, what, "no such section, see nmd.conf(5)");
}

static bool is_blank_or_comment(const char *s, const char *end)
{
    while (s < end && isspace((unsigned char)*s))
        s++;
    return s == end || *s == ';' || *s == '#';
}

/* Checks a section heading, because inih does not call its handler for a section without keys, and ignores text after
 * the heading. */
static void check_heading(struct reading *s)
{
    const char *close = memchr(s->line_text, ']', s->line_len);
    char name[SHOWN_MAX];
    size_t n;

    s->skip_section = true;
    if (!close || !is_blank_or_comment(close + 1, s->line_text + s->line_len)) {
        fail_line(s, NOT_INI);
        return;
    }
    n = NM_MIN((size_t)(close - s->line_text - 1), sizeof name - 1);
    memcpy(name, s->line_text + 1, n);
    name[n] = '\0';
    s->skip_section = !nm_config_has_section(name);
    if (s->skip_section)
        fail_section(s, name);
}

/* Sets the current line to the line that begins at `text`, without leading and trailing space. Returns the beginning of
 * the next line. */
static const char *take_line(struct reading *s, const char *text)
{
    const char *newline = memchr(text, '\n', (size_t)(s->end - text)),
               *end = newline ? newline : s->end;

    while (text < end && isspace((unsigned char)*text))
        text++;
    s->line_text = text;
    s->line_len = (size_t)(end - text);
    while (s->line_len > 0 && isspace((unsigned char)text[s->line_len - 1]))
        s->line_len--;
    return newline ? newline + 1 : s->end;
}

/* The line reader that inih calls in place of fgets(). Returns the next line without its indentation, or NULL at the
 * end. For an invalid line, or a line in an unknown section, returns an empty line, because inih would read such a line
 * as a key of the previous section. */
static char *next_line(char *buf, int size, void *userdata)
{
    struct reading *s = userdata;

    assert(size > 1);
    if (s->oom || s->at == s->end)
        return NULL;
    s->is_bad = false;
    s->line++;
    s->at = take_line(s, s->at);
    if (memchr(s->line_text, '\0', s->line_len))
        fail_line(s, "the line contains a NUL byte");
    else if (s->line_len + 3 > (size_t)size && *s->line_text != '#')
        fail_line(s, "the line is too long; a list can be continued by giving its key again");
    else if (s->line_len > 0 && *s->line_text == '[')
        check_heading(s);
    else if (s->line_len > 0 && !strchr(";#", *s->line_text) &&
             !memchr(s->line_text, '=', s->line_len) && !memchr(s->line_text, ':', s->line_len))
        fail_line(s, NOT_INI);
    if (s->is_bad || s->skip_section)
        s->line_len = 0;
    s->line_len = NM_MIN(s->line_len, (size_t)size - 1); /* cuts a long comment */
    memcpy(buf, s->line_text, s->line_len);
    buf[s->line_len] = '\0';
    return buf;
}

static void fail_key(struct reading *s, const char *section, const char *name)
{
    char text[SHOWN_MAX], what[2 * SHOWN_MAX];
    const struct nm_config_key *near = nm_config_nearest_key(section, name);

    drop_values(s, NULL, near);
    (void)snprintf(what, sizeof what, "[%s] %s", section,
                   shown(name, strlen(name), text, sizeof text));
    if (!*section)
        fail(s, shown(name, strlen(name), text, sizeof text), "a key must follow a [section] heading");
    else if (!near)
        fail(s, what, "no such key, see nmd.conf(5)");
    else if (nm_streq(near->section, section))
        fail(s, what, "no such key, did you mean %s?", near->name);
    else
        fail(s, what, "no such key here, did you mean [%s] %s?", near->section, near->name);
}

static void fail_value(struct reading *s, const struct nm_config_key *key, const char *value)
{
    char text[SHOWN_MAX], what[3 * SHOWN_MAX], allowed[320];

    (void)snprintf(what, sizeof what, "[%s] %s = %s", key->section, key->name,
                   shown(value, strlen(value), text, sizeof text));
    fail(s, what, "allowed is %s", nm_config_allowed(key, allowed, sizeof allowed));
}

/* The handler that inih calls for each key. Returns 1, or 0 if memory is short. fail() collects the other errors. */
static int take(void *userdata, const char *section, const char *name, const char *value)
{
    struct reading *s = userdata;
    const struct nm_config_key *key = nm_config_find_key(section, name);
    size_t i;
    int r;

    if (!key) {
        fail_key(s, section, name);
        return 1;
    }
    i = (size_t)(key - nm_config_keys);
    if (s->set_on_line[i] && key->type != NM_CONFIG_USERS) {
        char what[SHOWN_MAX];
        (void)snprintf(what, sizeof what, "[%s] %s", section, name);
        fail(s, what, "already given on line %u", s->set_on_line[i]);
        return 1;
    }
    if (!s->set_on_line[i] || !*value)
        nm_config_clear_list(s->config, key);
    r = nm_config_set(s->config, key, value);
    if (r == -ENOMEM)
        s->oom = true;
    else if (r < 0)
        fail_value(s, key, value);
    if (r < 0 && s->sources)
        s->sources[i].is_unknown = true;
    if (r < 0)
        return r != -ENOMEM;
    s->set_on_line[i] = s->line;
    if (s->sources)
        s->sources[i] = (struct nm_config_source){.file = s->file, .line = s->line};
    return 1;
}

int nm_config_read_text(struct nm_config *c, const char *file, const char *text, size_t len,
                        struct nm_config_source *sources, char **ret_message)
{
    static const char bom[] = "\xef\xbb\xbf"; /* byte order mark that some editors write before UTF-8 text */
    _cleanup_free_ unsigned *set_on_line = calloc(nm_config_n_keys, sizeof *set_on_line);
    struct reading s = {
        .config = c,
        .sources = sources,
        .file = file,
        .at = text,
        .end = text + len,
        .line_text = text,
        .set_on_line = set_on_line,
    };
    int r;

    assert(c && text);
    if (!set_on_line)
        return -ENOMEM;
    if (len >= 3 && memcmp(text, bom, 3) == 0)
        s.at += 3;
    r = ini_parse_stream(next_line, &s, take, &s);
    if (r > 0 && !s.refusals.text) {
        /* Only inih has found an error. So the error is one of the grammar, such as a line whose only '=' is in a
         * comment. inih continues after an error, and returns the line number of the first error. */
        for (s.at = text, s.line = 0; s.line < (unsigned)r; s.line++)
            s.at = take_line(&s, s.at);
        s.is_bad = false;
        fail_line(&s, NOT_INI);
    }
    if (r < 0 || s.oom) {
        nm_refusals_done(&s.refusals);
        return -ENOMEM;
    }
    return nm_refusals_take(&s.refusals, ret_message);
}
