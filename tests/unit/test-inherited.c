/* SPDX-License-Identifier: Apache-2.0 */

/* util/inherited.h: the table of the attributes that processes inherit. tests/integration/15-inherited.sh compares its
 * flags for processes, by their names in nmd(8), with real processes. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "util/fileio.h"
#include "util/inherited.h"
#include "util/macros.h"

#define MANUAL_MAX_BYTES (256 * 1024)

static void test_each_row_of_the_table_is_complete_and_unique(void **state)
{
    (void)state;
    assert_true(nm_inherited_rows >= 34);
    for (size_t i = 0; i < nm_inherited_rows; i++) {
        const struct nm_inherited *row = &nm_inherited_table[i];

        assert_true(*row->name && *row->nmd && *row->helpers && *row->commands);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(row->name, nm_inherited_table[k].name);
    }
}

static void test_the_manual_has_each_row_of_the_table(void **state)
{
    _cleanup_free_ char *rows = NULL, *manual = calloc(1, MANUAL_MAX_BYTES);
    size_t size;
    FILE *f = open_memstream(&rows, &size);
    const char *begin;

    (void)state;
    assert_non_null(f);
    assert_non_null(manual);
    assert_int_equal(nm_inherited_print_man(f), 0);
    assert_int_equal(fclose(f), 0);
    assert_true(nm_read_file_at(AT_FDCWD, NM_TEST_SRCDIR "/packaging/nmd.8", manual, MANUAL_MAX_BYTES, NULL) >= 0);
    begin = strstr(manual, "\n.\\\" inherited: begin");
    assert_non_null(begin);
    begin = strchr(begin + 1, '\n') + 1;
    if (strncmp(begin, rows, size) != 0 || strncmp(begin + size, ".\\\" inherited: end", 18) != 0)
        fail_msg("packaging/nmd.8 differs from the table in util/inherited.c: run `make update-config-docs`");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_row_of_the_table_is_complete_and_unique),
        cmocka_unit_test(test_the_manual_has_each_row_of_the_table),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
