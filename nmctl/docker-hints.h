/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Hints for docker's options and verbs that nmctl doesn't have or that have another meaning. */

/* Returns a hint for an option that `verb` doesn't have, given as typed ("-p", "--publish=80:80"), or NULL. */
const char *nm_docker_hint_option(const char *verb, const char *word);
/* Returns a hint for an unknown verb, or NULL. */
const char *nm_docker_hint_verb(const char *word);
