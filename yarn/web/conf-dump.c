/* SPDX-License-Identifier: Apache-2.0 */

/* See conf-dump.h. */

#include "yarn/web/conf-dump.h"

#include <errno.h>
#include <string.h>

#include "localize/pattern/pattern.h"
#include "yarn/node/html.h"

#define EXPRESSIONS_MAX 64u /* of each request, which blocks the event loop; Hadoop's default has 24 */

/* ---- sensitive properties ----------------------------------------------------------------- */

struct redactor {
    struct nm_pattern *all[EXPRESSIONS_MAX];
    size_t n;
    bool hides_all; /* an expression is missing: Java and nmd might treat it differently */
};

static void redactor_init(struct redactor *r, char *const *expressions)
{
    char *message = NULL;

    *r = (struct redactor){};
    for (size_t i = 0; expressions && expressions[i]; i++) {
        if (r->n < EXPRESSIONS_MAX && nm_pattern_new_find(expressions[i], &r->all[r->n], &message) >= 0)
            r->n++;
        else
            r->hides_all = true;
        free(STEAL_PTR(message));
    }
}

static void redactor_done(struct redactor *r)
{
    for (size_t i = 0; i < r->n; i++)
        nm_pattern_free(r->all[i]);
}

/* Returns whether the value must not be shown. A value is also hidden if an expression can't be matched. */
static bool hides(const struct redactor *r, const char *name)
{
    for (size_t i = 0; i < r->n; i++)
        if (nm_pattern_match(r->all[i], name) != 0)
            return true;
    return r->hides_all;
}

/* ---- properties --------------------------------------------------------------------------- */

/* Returns the name of the file that sets a property, as in Hadoop: without its directory, or the file of Hadoop's
 * defaults. */
static const char *resource_of(const char *name, const char *source, bool is_default)
{
    static const char *const defaults[][2] = {
        {"yarn.", "yarn-default.xml"}, {"mapreduce.", "mapred-default.xml"}, {"dfs.", "hdfs-default.xml"},
        {"nmd.", "nmd"},
    };
    const char *slash = strrchr(source, '/');

    for (size_t i = 0; is_default && i < NM_ARRAY_SIZE(defaults); i++)
        if (strncmp(name, defaults[i][0], strlen(defaults[i][0])) == 0)
            return defaults[i][1];
    return is_default ? "core-default.xml" : slash ? slash + 1 : source;
}

static const char *text_of(const json_t *row, const char *name)
{
    return json_string_value(json_object_get(row, name)) ?: "";
}

static json_t *make(const json_t *row, bool is_final, const struct redactor *r, const char *replacement)
{
    const char *key = text_of(row, "key");

    return json_pack("{s:s, s:s, s:b, s:s}", "key", key, "value", hides(r, key) ? replacement : text_of(row, "value"),
                     "isFinal", is_final, "resource",
                     resource_of(key, text_of(row, "source"), json_is_true(json_object_get(row, "is_default"))));
}

/* Hadoop's /conf has no property that is in no file, not even in those of Hadoop's defaults. */
static bool is_listed(const struct nm_yarn_settings *s, size_t row)
{
    return row >= nm_yarn_n_keys || !nm_yarn_keys[row].unlisted || s->sources[row];
}

int nm_yarn_conf_dump(const struct nm_yarn_settings *s, const char *name, bool is_xml, json_t **ret)
{
    const char *replacement = is_xml ? "******" : "<redacted>";
    const bool is_one = name && *name;
    json_t *rows = nm_yarn_settings_properties(s), *list = json_array(), *row;
    struct redactor redactor;
    bool failed = !rows || !list;
    size_t i;

    redactor_init(&redactor, s->sensitive_keys);
    json_array_foreach(rows, i, row)
        if (!failed && is_listed(s, i) && (!is_one || strcmp(text_of(row, "key"), name) == 0))
            failed = json_array_append_new(list, make(row, i < nm_yarn_n_keys && s->finals[i], &redactor,
                                                      replacement)) < 0;
    redactor_done(&redactor);
    json_decref(rows);
    if (!failed && is_one && json_array_size(list) == 0) {
        json_decref(list);
        return -ENOENT;
    }
    if (failed)
        *ret = NULL;
    else
        *ret = is_one ? json_pack("{s:O}", "property", json_array_get(list, 0))
                      : json_pack("{s:O}", "properties", list);
    json_decref(list);
    return *ret ? 0 : -ENOMEM;
}

/* ---- XML ---------------------------------------------------------------------------------- */

static void put_element(FILE *f, const char *name, const char *text)
{
    (void)fprintf(f, "<%s>", name);
    nm_yarn_put_html(f, text);
    (void)fprintf(f, "</%s>", name);
}

static void put_property(FILE *f, const json_t *p)
{
    (void)fputs("<property>", f);
    put_element(f, "name", text_of(p, "key"));
    put_element(f, "value", text_of(p, "value"));
    put_element(f, "final", json_is_true(json_object_get(p, "isFinal")) ? "true" : "false");
    put_element(f, "source", text_of(p, "resource"));
    (void)fputs("</property>\n", f);
}

char *nm_yarn_conf_dump_xml(const json_t *dump)
{
    const json_t *one = json_object_get(dump, "property"), *list = json_object_get(dump, "properties"), *p;
    char *text = NULL;
    size_t size, i;
    FILE *f = open_memstream(&text, &size);

    if (!f)
        return NULL;
    (void)fputs("<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?><configuration>\n", f);
    if (one)
        put_property(f, one);
    json_array_foreach(list, i, p)
        put_property(f, p);
    (void)fputs("</configuration>\n", f);
    return nm_yarn_end_text(f, &text);
}
