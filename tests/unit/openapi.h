/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Checks an answer against the OpenAPI description that nmd itself serves. The check knows only the
 * part of OpenAPI 3.0 that openapi.json uses. An unknown keyword in the description fails the check.
 */

#include <jansson.h>

/* Checks that an answer and each of its members are described for method ("GET") and pattern
 * ("/v1/containers/{id}"). Returns 0, or -EBADMSG with the error and its place in buf. body NULL:
 * the answer is not JSON, and only its media type is checked. */
int openapi_check_answer(const json_t *doc, const char *method, const char *pattern,
                         unsigned status, const char *content_type, const json_t *body, char *buf,
                         size_t size);

/* Checks the body of a request as openapi_check_answer() checks an answer. */
int openapi_check_request(const json_t *doc, const char *method, const char *pattern,
                          const json_t *body, char *buf, size_t size);

/* Checks a value, such as one line of an event stream, against a named schema. */
int openapi_check_schema(const json_t *doc, const char *schema, const json_t *value, char *buf,
                         size_t size);
