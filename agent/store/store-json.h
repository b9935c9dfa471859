/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A container as JSON, all of it: the columns of the journal and the command. Read with the same
 * suspicion as rows.
 */

#include <jansson.h>

#include "agent/container.h"

/* -EILSEQ: a string isn't UTF-8. */
int nm_store_container_to_json(const struct nm_container *c, json_t **ret);
/* -EBADMSG: anything is missing, of the wrong type or out of range. */
int nm_store_container_from_json(const json_t *j, struct nm_container **ret);

/* What isn't JSON: -EBADMSG. */
int nm_store_json_parse(const char *text, size_t len, json_t **ret);

/* In as few characters as it takes. */
int nm_store_json_print(const json_t *j, char **ret);

/* NULL-terminated lists. */
int nm_store_strv_to_json(char *const *v, json_t **ret);
int nm_store_strv_from_json(const json_t *array, char ***ret);

/* Has it a program, and is every entry of its environment NAME=value? */
bool nm_store_command_is_sane(const struct nm_command *cmd);
