/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The pages for people at the addresses of Hadoop's NodeManager (/node and the paths below it). Each page is made from
 * the answer of the web service with the same data (node/rest.h), so both show the same to each viewer. The code is
 * pure. The caller frees the text of a page. NULL: no memory.
 */

#include <jansson.h>

char *nm_yarn_page_node(const json_t *answer);
char *nm_yarn_page_applications(const json_t *answer);
char *nm_yarn_page_application(const json_t *answer);
char *nm_yarn_page_containers(const json_t *answer);
char *nm_yarn_page_container(const json_t *answer);
/* Makes a page with a sentence instead of data. */
char *nm_yarn_page_message(const char *message);
