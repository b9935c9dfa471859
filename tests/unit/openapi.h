/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Holds an answer against the OpenAPI description that nmd itself serves. Knows the part of
 * OpenAPI 3.0 that openapi.json uses, and nothing but: a keyword it doesn't know is a failure, not
 * a pass.
 */

#include <jansson.h>

/* Is this answer described for method ("GET") and pattern ("/v1/containers/{id}")? Every member
 * must be described, too. Returns 0, or -EBADMSG with what is wrong and where in buf. body NULL:
 * not JSON, only the media type is looked at. */
int openapi_check_answer(const json_t *doc, const char *method, const char *pattern,
                         unsigned status, const char *content_type, const json_t *body, char *buf,
                         size_t size);

/* Is this a request body as described? */
int openapi_check_request(const json_t *doc, const char *method, const char *pattern,
                          const json_t *body, char *buf, size_t size);

/* One line of an event stream. */
int openapi_check_schema(const json_t *doc, const char *schema, const json_t *value, char *buf,
                         size_t size);
