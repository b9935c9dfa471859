/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See json.h. A member that is missing, null or of another type gives an empty value. nmctl therefore shows as much as
 * possible of an nmd of another version, and verbs needn't check each member.
 */

#include "nmctl/json.h"

#include "util/macros.h"

json_t *nm_json_at(const json_t *j, const char *path)
{
    json_t *at = (json_t *)j;

    while (at && *path) {
        char name[64];
        size_t n = strcspn(path, ".");

        if (n >= sizeof name)
            return NULL;
        memcpy(name, path, n);
        name[n] = '\0';
        at = json_object_get(at, name);
        path += n + (path[n] == '.');
    }
    return at;
}

const char *nm_json_str(const json_t *j, const char *path)
{
    const char *s = json_string_value(nm_json_at(j, path));

    return s ? s : "";
}

/* Returns an integer or real number. json_real_value() would return 0 for the integer 2. */
double nm_json_num(const json_t *j, const char *path)
{
    return json_number_value(nm_json_at(j, path));
}

uint64_t nm_json_u64(const json_t *j, const char *path)
{
    const json_t *v = nm_json_at(j, path);
    json_int_t i = json_integer_value(v);

    if (json_is_real(v)) {
        double d = json_real_value(v);
        return d >= 9e18 ? (uint64_t)INT64_MAX
               : d > 0   ? (uint64_t)d
                         : 0; /* the cast is undefined for values beyond 64 bits */
    }
    return i > 0 ? (uint64_t)i : 0;
}

bool nm_json_bool(const json_t *j, const char *path)
{
    return json_is_true(nm_json_at(j, path));
}

bool nm_json_has(const json_t *j, const char *path)
{
    const json_t *v = nm_json_at(j, path);

    return v && !json_is_null(v);
}
