/* SPDX-License-Identifier: Apache-2.0 */

/* See json-make.h. All text passes through nm_make_string(), because JSON must be UTF-8. */

#include "rpc/local/json-make.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "util/macros.h"
#include "util/utf8.h"

json_t *nm_make_object(const struct nm_member *m)
{
    json_t *o = json_object();

    assert(m->name); /* an object needs at least one member */
    for (; m->name; m++) {
        /* json_object_set_new_nocheck() always takes over the value, and fails if the value or the object is NULL. */
        if (json_object_set_new_nocheck(o, m->name, m->value) < 0) {
            json_decref(o);
            o = NULL;
        }
    }
    return o;
}

json_t *nm_make_append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) == 0)
        return array;
    json_decref(array);
    return NULL;
}

json_t *nm_make_merge(json_t *o, json_t *from)
{
    int r = o && from ? json_object_update(o, from) : -1;

    json_decref(from);
    if (r == 0)
        return o;
    json_decref(o);
    return NULL;
}

/* Saturates at INT64_MAX, because jansson's integers are signed. */
json_t *nm_make_integer(uint64_t v)
{
    return json_integer(v > INT64_MAX ? INT64_MAX : (json_int_t)v);
}

json_t *nm_make_integer_or_null(uint64_t v, bool is_null)
{
    return is_null ? json_null() : nm_make_integer(v);
}

/* Replaces NaN and infinity by 0, because JSON doesn't have them and json_real() would return NULL. */
json_t *nm_make_real(double v)
{
    return json_real(isfinite(v) ? v : 0.0);
}

json_t *nm_make_permille_or_null(uint32_t permille, bool is_null)
{
    return is_null ? json_null() : nm_make_real(permille / 1000.0);
}

/* Replaces each invalid byte by U+FFFD (three bytes), as browsers do. json_string() rejects invalid UTF-8, but a
 * command line or path may contain any byte. */
json_t *nm_make_string(const char *s)
{
    const char *p = s;
    json_t *j = json_string(s);
    _cleanup_free_ char *fixed = NULL;
    size_t out = 0;

    if (j)
        return j;
    fixed = malloc(strlen(s) * 3 + 1);
    if (!fixed)
        return NULL;
    while (*p) {
        size_t n = nm_utf8_size(p);
        memcpy(fixed + out, n > 0 ? p : "\xef\xbf\xbd", n > 0 ? n : 3);
        out += n > 0 ? n : 3;
        p += n > 0 ? n : 1;
    }
    return json_stringn(fixed, out);
}

json_t *nm_make_string_or_null(const char *s)
{
    return s && *s ? nm_make_string(s) : json_null();
}
