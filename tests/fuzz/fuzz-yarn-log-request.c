/* SPDX-License-Identifier: Apache-2.0 */

/* The parameters of a request for a log file, names of files, and access control lists: yarn/node/log-text.h and
 * yarn/node/acl.h. The input has three lines: a number, another number, and a name or a list. */

#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/text.h"
#include "util/utf8.h"
#include "yarn/node/acl.h"
#include "yarn/node/log-text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_part(const struct nm_yarn_log_part *p, uint64_t size)
{
    if (p->from > size || p->size > size - p->from)
        abort();
}

static void check_numbers(const char *a, const char *b)
{
    static const uint64_t sizes[] = {0, 1, 15, 4096, INT64_MAX};
    struct nm_yarn_log_part p;
    uint64_t from, to;

    for (size_t i = 0; i < NM_ARRAY_SIZE(sizes); i++) {
        if (nm_yarn_log_part_by_count(sizes[i], a, &p) == 0)
            check_part(&p, sizes[i]);
        if (nm_yarn_log_part_by_range(sizes[i], a, b, &p, &from, &to) == 0)
            check_part(&p, sizes[i]);
    }
}

/* Checks that a page with this name has no tag but its own, and is UTF-8. */
static void check_name(const char *name)
{
    struct nm_yarn_log_file file = {(char *)(uintptr_t)name, 1, 1};
    const struct nm_yarn_log_files files = {.all = &file, .n = 1};
    const struct nm_yarn_log_text t = {name, name, "n", 1, true};
    _cleanup_free_ char *page = nm_yarn_log_page(&t, &files), *after = nm_yarn_log_after(&t, name);
    unsigned n_tags = 0;

    if (!page || !after)
        return;
    for (const char *c = page; *c; c++)
        n_tags += *c == '<';
    /* html, head, meta, title, style, body, h1, h2, p, a, with their ends */
    if (n_tags != 19 || page[nm_utf8_prefix(page)] != '\0')
        abort();
    json_decref(nm_yarn_log_list(&t, &files));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = fuzz_text(data, size);
    char *rest = text, *a = strsep(&rest, "\n"), *b = strsep(&rest, "\n");

    check_numbers(a, b);
    if (!rest)
        return 0;
    if (nm_yarn_acl_has_user(rest, "") && rest[strspn(rest, " \t\r\n\f")] != '*')
        abort();
    (void)nm_yarn_acl_has_user(rest, a);
    if (nm_yarn_acl_has_group_of(rest, a) && !nm_yarn_acl_has_groups(rest))
        abort();
    if (*rest)
        check_name(rest);
    return 0;
}
