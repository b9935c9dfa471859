/* SPDX-License-Identifier: Apache-2.0 */

/* See routes.h. */

#include "rpc/local/routes.h"

#include <assert.h>

#include "rpc/local/messages.h"
#include "util/parse.h"

/* ---- targets ------------------------------------------------------------------------------ */

/* The target is first split at '/', '?', '&' and '='. Each piece is decoded afterwards, so that an escaped separator
 * doesn't separate pieces. */

static bool is_control(int c)
{
    return c < 0x20 || c == 0x7f;
}

/* Decodes %XX in place. Returns -EINVAL for an invalid escape, for a NUL and for a control character that isn't
 * escaped. *ret_control: set to true if an escape is a control character. */
static int decode(char *s, bool *ret_control)
{
    char *to = s;

    for (; *s; s++) {
        int c = (unsigned char)*s;
        if (c == '%') {
            int high = nm_hex_digit(s[1]), low = high < 0 ? -1 : nm_hex_digit(s[2]);
            if (low < 0)
                return -EINVAL;
            c = high * 16 + low;
            s += 2;
            *ret_control |= is_control(c);
        } else if (is_control(c))
            return -EINVAL;
        if (c == '\0')
            return -EINVAL;
        *to++ = (char)c;
    }
    *to = '\0';
    return 0;
}

static int parse_path(char *path, struct nm_target *t)
{
    char *p = path + 1, *segment;

    if (!*p)
        return 0;
    while ((segment = strsep(&p, "/"))) {
        if (t->n_segments == NM_TARGET_SEGMENTS_MAX)
            return -E2BIG;
        if (decode(segment, &t->has_control) < 0)
            return -EINVAL;
        t->segments[t->n_segments++] = segment;
    }
    return 0;
}

/* Parses the query. Refuses a duplicate parameter, because its value would be ambiguous. */
static int parse_query(char *query, struct nm_target *t, struct nm_problem *p)
{
    bool has_control = false;
    char *value;

    while ((value = strsep(&query, "&"))) {
        char *name = strsep(&value, "=");
        if (!*name && !value)
            continue; /* "?" alone, or "&&" */
        if (decode(name, &has_control) < 0 || (value && decode(value, &has_control) < 0) || has_control)
            return -EINVAL;
        if (nm_target_query(t, name))
            return nm_messages_problem(p, NM_AGENT_E_INVALID, name, value,
                                       "The query parameter %s is given twice.", name);
        if (t->n_query == NM_TARGET_QUERY_MAX)
            return -E2BIG;
        t->query[t->n_query].name = name;
        t->query[t->n_query++].value = value ? value : "";
    }
    return 0;
}

/* Parses a target. Stores two copies: the raw path for messages, and the text into which the decoded pieces point. */
int nm_target_parse(const char *raw, struct nm_target *ret, struct nm_problem *ret_problem)
{
    struct nm_target t = {};
    char *query;
    int r = 0;

    assert(raw && ret && ret_problem);
    if (strlen(raw) > NM_TARGET_MAX)
        return nm_messages_problem(
            ret_problem, NM_AGENT_E_INVALID, "path", raw,
            "The path with its query is %zu bytes long; at most %d are allowed.", strlen(raw),
            NM_TARGET_MAX);
    if (*raw != '/')
        return nm_messages_problem(ret_problem, NM_AGENT_E_INVALID, "path", raw,
                                   "The path must begin with '/'.");
    t.path = strdup(raw);
    t.text = strdup(raw);
    if (!t.path || !t.text) {
        nm_target_done(&t);
        return -ENOMEM;
    }
    t.raw_query = t.path + strcspn(t.path, "?");
    if (*t.raw_query)
        t.path[t.raw_query++ - t.path] = '\0';
    query = strchr(t.text, '?');
    if (query)
        *query++ = '\0';
    r = parse_path(t.text, &t);
    if (r == 0)
        r = parse_query(query, &t, ret_problem);
    if (r == -EINVAL)
        r = nm_messages_problem(ret_problem, NM_AGENT_E_INVALID, "path", raw,
                                "The path has an invalid %%-escape or a control character.");
    if (r == -E2BIG)
        r = nm_messages_problem(
            ret_problem, NM_AGENT_E_INVALID, "path", raw,
            "The path has more than %d parts or the query more than %d parameters.",
            NM_TARGET_SEGMENTS_MAX, NM_TARGET_QUERY_MAX);
    if (r != 0) {
        nm_target_done(&t);
        return r;
    }
    *ret = t;
    return 0;
}

void nm_target_done(struct nm_target *t)
{
    free(t->path);
    free(t->text);
    *t = (struct nm_target){};
}

const char *nm_target_query(const struct nm_target *t, const char *name)
{
    for (unsigned i = 0; i < t->n_query; i++)
        if (nm_streq(t->query[i].name, name))
            return t->query[i].value;
    return NULL;
}

/* ---- routes ------------------------------------------------------------------------------- */

/* Returns the member for a segment of a pattern, or NULL if the segment must be equal. */
static const char **word_of(struct nm_route_words *words, const char *p, size_t n)
{
    return strncmp(p, "{id}", n) == 0     ? &words->id
           : strncmp(p, "{user}", n) == 0 ? &words->user
           : strncmp(p, "{file}", n) == 0 ? &words->file
                                          : NULL;
}

/* Returns whether the path matches the pattern. Sets the members of *ret_words for the pattern's words. An empty
 * segment is not a user or a file. */
static bool fits(const struct nm_route *r, const struct nm_target *t, struct nm_route_words *ret_words)
{
    const char *p = r->pattern + 1;
    unsigned i = 0, n_segments = t->n_segments;

    assert(*r->pattern == '/' && n_segments <= NM_TARGET_SEGMENTS_MAX);
    if ((r->flags & NM_ROUTE_UPSTREAM) && n_segments > 1 && !*t->segments[n_segments - 1])
        n_segments--;
    for (; *p; i++) {
        size_t n = strcspn(p, "/");
        const char **word = word_of(ret_words, p, n);

        if (i == n_segments || (word && word != &ret_words->id && !*t->segments[i]))
            return false;
        if (word)
            *word = t->segments[i];
        else if (strlen(t->segments[i]) != n || memcmp(t->segments[i], p, n) != 0)
            return false;
        p += n + (p[n] == '/');
    }
    return i == n_segments;
}

static void add_method(char *allow, size_t size, const char *method)
{
    size_t len = strlen(allow);

    (void)snprintf(allow + len, size - len, "%s%s%s", len > 0 ? ", " : "", method,
                   nm_streq(method, "GET") ? ", HEAD" : "");
}

/* Finds a route by a linear search: for about thirty routes other algorithms aren't faster. HEAD uses the route of GET,
 * and libmicrohttpd omits the body. If the path has routes only for other methods, returns the names of these methods,
 * because a 405 answer must list them. */
int nm_routes_find(const struct nm_route *routes, size_t n, const char *method,
                   const struct nm_target *t, const struct nm_route **ret, struct nm_route_words *ret_words,
                   char *allow, size_t size)
{
    const char *wanted = nm_streq(method, "HEAD") ? "GET" : method;
    bool path = false;

    assert(size > 0);
    allow[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        struct nm_route_words words = {};

        if (!fits(&routes[i], t, &words))
            continue;
        if (nm_streq(routes[i].method, wanted)) {
            *ret = &routes[i];
            *ret_words = words;
            return 0;
        }
        path = true;
        add_method(allow, size, routes[i].method);
    }
    return path ? NM_ROUTES_E_NO_METHOD : NM_ROUTES_E_NO_PATH;
}

bool nm_routes_takes_query(const struct nm_route *r, const char *name)
{
    const char *p = r->query;
    size_t len = strlen(name);

    while (*p) {
        size_t n = strcspn(p, " ");
        if (n == len && memcmp(p, name, n) == 0)
            return true;
        p += n + (p[n] == ' ');
    }
    return false;
}
