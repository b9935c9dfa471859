/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What fingers type that know docker: words that mean something else here, or nothing. */

/* What to say of an option that `verb` doesn't know, as it was typed ("-p", "--publish=80:80"), or NULL. */
const char *nm_docker_hint_option(const char *verb, const char *word);
/* What to say of a verb that there isn't, or NULL. */
const char *nm_docker_hint_verb(const char *word);
