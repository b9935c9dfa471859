/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The answers about log files in the formats of Hadoop 3.4.2's NodeManager: the web services, which `yarn logs` reads,
 * and the pages, to which the ResourceManager, the JobHistory server and Spark link. The code is pure. Each function
 * that returns a text or JSON returns NULL if memory ran out. The caller frees texts.
 */

#include <jansson.h>

#include "yarn/launch/log-files.h"

/* One container's logs. */
struct nm_yarn_log_text {
    const char *container, *owner; /* owner: the user in the address of the page */
    const char *host;              /* the node's name; "" while it is not known yet */
    int32_t port;
    bool is_running;
};

/* A part of a file, [from, from + size). */
struct nm_yarn_log_part {
    uint64_t from, size;
};

/* Parse the parameters of a request for a part of a file of this size. NULL or "": the default. Both return 0, or
 * -EINVAL if a parameter isn't a number, which leaves *ret unchanged. */

/* count: the first bytes, or as a negative number the last bytes; default: all. */
int nm_yarn_log_part_by_count(uint64_t size, const char *count, struct nm_yarn_log_part *ret);
/* start, end: positions; negative ones count from the end. Defaults: the last 4096 bytes. -ERANGE: the part begins
 * after its end. The positions are then in *ret_start and *ret_end. */
int nm_yarn_log_part_by_range(uint64_t size, const char *start, const char *end, struct nm_yarn_log_part *ret,
                              uint64_t *ret_start, uint64_t *ret_end);

/* Returns a name as a segment of a path, in which all special characters are escaped. */
char *nm_yarn_log_segment(const char *name);

/* ---- web services ---- */

/* Returns the list as {"containerLogsInfo":{...}}. files NULL: no files. Names that aren't UTF-8 are left out. */
json_t *nm_yarn_log_list(const struct nm_yarn_log_text *t, const struct nm_yarn_log_files *files);
/* Return the text before and after the file's bytes. f: the file's size and time; its name is `name`. */
char *nm_yarn_log_before(const struct nm_yarn_log_text *t, const char *name, const struct nm_yarn_log_file *f);
char *nm_yarn_log_after(const struct nm_yarn_log_text *t, const char *name);

/* ---- pages ---- */

/* Returns the page with links to the files. */
char *nm_yarn_log_page(const struct nm_yarn_log_text *t, const struct nm_yarn_log_files *files);
/* Returns the text before the file's bytes, with a link to the whole file if only a part of it is shown. */
char *nm_yarn_log_page_before(const struct nm_yarn_log_text *t, const char *name, const struct nm_yarn_log_file *f,
                              const struct nm_yarn_log_part *part);
/* The text after the bytes. */
#define NM_YARN_LOG_PAGE_AFTER "</pre>\n</body>\n</html>\n"
/* Returns a page with a message instead of files. */
char *nm_yarn_log_page_message(const char *container, const char *message);
