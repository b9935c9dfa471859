/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Checks JSON against the OpenAPI document of nmd. The test is linked with openapi.c. Include it after cmocka.h. */

#include "rpc/local/embedded.h"
#include "tests/unit/openapi.h"

/* Checks the value against the named schema. */
static inline void assert_described(const char *schema, const json_t *value)
{
    json_t *doc = json_loadb((const char *)nm_embedded_openapi, nm_embedded_openapi_len, 0, NULL);
    char wrong[512];

    assert_non_null(value);
    if (openapi_check_schema(doc, schema, value, wrong, sizeof wrong) < 0)
        fail_msg("%s", wrong);
    json_decref(doc);
}

/* Checks the value against the named schema, and its text unless `expected` is NULL. Releases the reference to the
 * value. */
static inline void assert_answer(const char *schema, json_t *value, const char *expected)
{
    char *text = json_dumps(value, JSON_COMPACT);

    assert_described(schema, value);
    if (expected)
        assert_string_equal(text, expected);
    free(text);
    json_decref(value);
}
