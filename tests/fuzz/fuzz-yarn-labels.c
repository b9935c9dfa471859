/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes the texts of labels and attributes. The first byte selects the kind, and a property or the output of a script.
 * An accepted set must have valid names, and a property that is made of it must be accepted as the same set. */

#include "text.h"

#include <stdio.h>

#include "yarn/labels/descriptors.h"

/* Aborts unless the set, written as a property, is read as the same set. */
static void check_set(enum nm_yarn_descriptor_kind kind, const struct nm_yarn_descriptors *d)
{
    struct nm_yarn_descriptors again = {};
    _cleanup_free_ char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);

    if (!f || d->n > NM_YARN_DESCRIPTORS_MAX || (kind == NM_YARN_LABEL && d->n > 1))
        abort();
    for (size_t i = 0; i < d->n; i++) {
        if (strlen(d->items[i].name) > NM_YARN_DESCRIPTOR_MAX)
            abort();
        if (kind == NM_YARN_LABEL)
            fprintf(f, "%s", d->items[i].name);
        else
            fprintf(f, "%s,STRING, %s:", d->items[i].name, d->items[i].value);
    }
    if (kind == NM_YARN_ATTRIBUTE && d->n > 0)
        fprintf(f, "zz-last,STRING,1"); /* an empty value at the end of a text would be missing */
    (void)fclose(f);
    if (d->n < NM_YARN_DESCRIPTORS_MAX && !memmem(text, size, "zz-last,STRING, ", 16)) {
        if (nm_yarn_descriptors_read(kind, text, &again, NULL) != 0)
            abort();
        if (again.n != d->n + (kind == NM_YARN_ATTRIBUTE && d->n > 0))
            abort();
    }
    nm_yarn_descriptors_done(&again);
}

static int read_lines(enum nm_yarn_descriptor_kind kind, char *text, struct nm_yarn_descriptors *d, char **ret_message)
{
    char *line;
    int r = 0;

    while (r == 0 && (line = strsep(&text, "\n")))
        r = nm_yarn_descriptors_add_line(kind, line, d, ret_message);
    return r == 0 ? nm_yarn_descriptors_finish(kind, d, ret_message) : r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum nm_yarn_descriptor_kind kind;
    struct nm_yarn_descriptors d = {};
    _cleanup_free_ char *text = NULL, *message = NULL;
    char shown[64];
    int r;

    if (size == 0)
        return 0;
    kind = data[0] & 1 ? NM_YARN_ATTRIBUTE : NM_YARN_LABEL;
    text = fuzz_text(data + 1, size - 1);
    r = data[0] & 2 ? read_lines(kind, text, &d, &message) : nm_yarn_descriptors_read(kind, text, &d, &message);
    if (r == 0)
        check_set(kind, &d);
    else if (!message)
        abort();
    (void)nm_yarn_descriptors_print(&d, shown, sizeof shown);
    nm_yarn_descriptors_done(&d);
    return 0;
}
