/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A container as JSON: the columns of the journal and the command. The reader checks the text as strictly as the rows
 * of the journal.
 */

#include <jansson.h>

#include "agent/container.h"

/* Returns -EILSEQ if a string is not UTF-8. */
int nm_store_container_to_json(const struct nm_container *c, json_t **ret);
/* Returns -EBADMSG if a member is missing, of the wrong type or out of range. */
int nm_store_container_from_json(const json_t *j, struct nm_container **ret);

/* Returns -EBADMSG if the text is not JSON. */
int nm_store_json_parse(const char *text, size_t len, json_t **ret);

/* The lists are NULL-terminated. */
int nm_store_strv_to_json(char *const *v, json_t **ret);
int nm_store_strv_from_json(const json_t *array, char ***ret);

/* Returns whether the command has a program and every entry of its environment is NAME=value. */
bool nm_store_command_is_valid(const struct nm_command *cmd);
