/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The answers of Hadoop's web services as XML, for clients that prefer XML to JSON. */

#include "rpc/local/answer-text.h"

/* Returns whether the request's Accept prefers application/xml to application/json. Both are equal by default, and JSON
 * then comes first. */
bool nm_answer_wants_xml(struct MHD_Connection *connection);
/* As nm_answer_wants_xml(), for the value of an Accept header. */
bool nm_answer_accept_prefers_xml(const char *accept);

/* Appends j, an object with one member, as an XML document, and releases j. NULL means that memory ran out. As Hadoop
 * writes its classes: an object is an element with its members, a list repeats its element, and null is left out. */
void nm_answer_text_add_xml(struct nm_answer_text *a, json_t *j);
