/* SPDX-License-Identifier: Apache-2.0 */

#include "openapi.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "util/macros.h"

struct check {
    const json_t *doc;
    char *buf;
    size_t size;
};

static int check_value(struct check *c, const json_t *schema, const json_t *value,
                       const char *where);

nm_printf(3, 4) static int wrong(struct check *c, const char *where, const char *format, ...)
{
    va_list ap;
    int n = snprintf(c->buf, c->size, "%s: ", where);

    va_start(ap, format);
    (void)vsnprintf(c->buf + n, c->size - (size_t)n, format, ap);
    va_end(ap);
    return -EBADMSG;
}

/* "#/components/schemas/X" */
static const json_t *resolve(const json_t *doc, const json_t *node)
{
    const char *ref = json_string_value(json_object_get(node, "$ref"));
    char copy[256], *p = copy, *name;

    if (!ref)
        return node;
    (void)snprintf(copy, sizeof copy, "%s", ref + 2);
    for (node = doc; node && (name = strsep(&p, "/"));)
        node = json_object_get(node, name);
    return node;
}

static const json_t *walk(const json_t *node, const char *const *names)
{
    for (; node && *names; names++)
        node = json_object_get(node, *names);
    return node;
}

static int check_known_keywords(struct check *c, const json_t *schema, const char *where)
{
    static const char *const known[] = {
        "type",     "format",     "minimum",   "maximum",  "description",          "enum",
        "nullable", "properties", "required",  "items",    "additionalProperties", "allOf",
        "default",  "pattern",    "maxLength", "minItems", "minProperties",        "dependentRequired",
    };
    const char *name;
    json_t *v;

    json_object_foreach((json_t *)schema, name, v)
    {
        size_t i = 0;
        while (i < NM_ARRAY_SIZE(known) && strcmp(known[i], name) != 0)
            i++;
        if (i == NM_ARRAY_SIZE(known))
            return wrong(c, where, "the description uses \"%s\", which isn't checked", name);
    }
    return 0;
}

/* Checks that all required members are present. required: the schema's "required", or a list of "dependentRequired". */
static int check_required(struct check *c, const json_t *required, const json_t *value, const char *where)
{
    const json_t *name;
    size_t i;

    json_array_foreach((json_t *)required, i, name)
    {
        if (!json_object_get(value, json_string_value(name)))
            return wrong(c, where, "%s is missing", json_string_value(name));
    }
    return 0;
}

static int check_object(struct check *c, const json_t *schema, const json_t *value,
                        const char *where)
{
    const json_t *properties = json_object_get(schema, "properties");
    const json_t *others = json_object_get(schema, "additionalProperties");
    const json_t *dependent = json_object_get(schema, "dependentRequired");
    const char *name;
    char inner[256];
    json_t *member;
    int r = check_required(c, json_object_get(schema, "required"), value, where);

    if (r < 0)
        return r;
    json_object_foreach((json_t *)value, name, member)
    {
        const json_t *s = json_object_get(properties, name);
        r = check_required(c, json_object_get(dependent, name), value, where);
        if (r < 0)
            return r;
        (void)snprintf(inner, sizeof inner, "%s.%s", where, name);
        if (!s && json_is_object(others))
            s = others;
        if (!s && !properties && !others)
            continue; /* an object of any kind */
        if (!s)
            return wrong(c, inner, "not described");
        r = check_value(c, s, member, inner);
        if (r < 0)
            return r;
    }
    return 0;
}

static int check_array(struct check *c, const json_t *schema, const json_t *value,
                       const char *where)
{
    const json_t *min = json_object_get(schema, "minItems"), *item;
    char inner[256];
    size_t i;

    if (min && json_array_size(value) < (size_t)json_integer_value(min))
        return wrong(c, where, "too short");
    json_array_foreach((json_t *)value, i, item)
    {
        (void)snprintf(inner, sizeof inner, "%s[%zu]", where, i);
        int r = check_value(c, json_object_get(schema, "items"), item, inner);
        if (r < 0)
            return r;
    }
    return 0;
}

static int check_range(struct check *c, const json_t *schema, const json_t *value,
                       const char *where)
{
    const json_t *min = json_object_get(schema, "minimum"), *max;

    max = json_object_get(schema, "maximum");
    if ((min && json_number_value(value) < json_number_value(min)) ||
        (max && json_number_value(value) > json_number_value(max)))
        return wrong(c, where, "%g is out of range", json_number_value(value));
    return 0;
}

static int check_enum(struct check *c, const json_t *schema, const json_t *value, const char *where)
{
    const json_t *allowed = json_object_get(schema, "enum"), *a;
    size_t i;

    if (!allowed)
        return 0;
    json_array_foreach((json_t *)allowed, i,
                       a) if (json_equal((json_t *)a, (json_t *)value)) return 0;
    return wrong(c, where, "\"%s\" is not one of those described", json_string_value(value));
}

static int check_value(struct check *c, const json_t *schema, const json_t *value,
                       const char *where)
{
    const char *type;
    int r;

    schema = resolve(c->doc, schema);
    if (!schema)
        return wrong(c, where, "the description refers to nothing");
    r = check_known_keywords(c, schema, where);
    if (r < 0)
        return r;
    if (json_is_null(value))
        return json_is_true(json_object_get(schema, "nullable")) ? 0 : wrong(c, where, "is null");
    if (json_object_get(schema, "allOf"))
        return check_value(c, json_array_get(json_object_get(schema, "allOf"), 0), value, where);
    type = json_string_value(json_object_get(schema, "type"));
    if (!type)
        return wrong(c, where, "the description has no type");
    if (strcmp(type, "object") == 0 && json_is_object(value))
        return check_object(c, schema, value, where);
    if (strcmp(type, "array") == 0 && json_is_array(value))
        return check_array(c, schema, value, where);
    if ((strcmp(type, "integer") == 0 && json_is_integer(value)) ||
        (strcmp(type, "number") == 0 && json_is_number(value)))
        return check_range(c, schema, value, where);
    if (strcmp(type, "string") == 0 && json_is_string(value))
        return check_enum(c, schema, value, where);
    if (strcmp(type, "boolean") == 0 && json_is_boolean(value))
        return 0;
    return wrong(c, where, "is no %s", type);
}

static const json_t *find_operation(const json_t *doc, const char *method, const char *pattern)
{
    char lower[16] = "";

    for (size_t i = 0; method[i] && i < sizeof lower - 1; i++)
        lower[i] = (char)tolower((unsigned char)method[i]);
    return walk(doc, (const char *const[]){"paths", pattern, lower, NULL});
}

/* Finds the schema for a content type, whose parameters are ignored. */
static const json_t *find_schema(const json_t *content, const char *content_type)
{
    char type[64];

    (void)snprintf(type, sizeof type, "%.*s", (int)strcspn(content_type, ";"), content_type);
    return walk(content, (const char *const[]){type, "schema", NULL});
}

int openapi_check_answer(const json_t *doc, const char *method, const char *pattern,
                         unsigned status, const char *content_type, const json_t *body, char *buf,
                         size_t size)
{
    struct check c = {.doc = doc, .buf = buf, .size = size};
    const json_t *operation = find_operation(doc, method, pattern), *response, *schema;
    char where[160], code[16];

    (void)snprintf(where, sizeof where, "%s %s %u", method, pattern, status);
    if (!operation)
        return wrong(&c, where, "not described");
    (void)snprintf(code, sizeof code, "%u", status);
    response = walk(operation, (const char *const[]){"responses", code, NULL});
    if (!response && status >= 400)
        response = walk(operation, (const char *const[]){"responses", "default", NULL});
    response = resolve(doc, response);
    if (!response)
        return wrong(&c, where, "this status is not described");
    schema = find_schema(json_object_get(response, "content"), content_type);
    if (!schema)
        return wrong(&c, where, "the media type %s is not described", content_type);
    return body ? check_value(&c, schema, body, where) : 0;
}

int openapi_check_request(const json_t *doc, const char *method, const char *pattern,
                          const json_t *body, char *buf, size_t size)
{
    struct check c = {.doc = doc, .buf = buf, .size = size};
    const json_t *schema =
        walk(find_operation(doc, method, pattern),
             (const char *const[]){"requestBody", "content", "application/json", "schema", NULL});

    if (!schema)
        return wrong(&c, pattern, "no body is described for %s", method);
    return check_value(&c, schema, body, "body");
}

int openapi_check_schema(const json_t *doc, const char *schema, const json_t *value, char *buf,
                         size_t size)
{
    struct check c = {.doc = doc, .buf = buf, .size = size};

    return check_value(&c, walk(doc, (const char *const[]){"components", "schemas", schema, NULL}),
                       value, schema);
}
