/* SPDX-License-Identifier: Apache-2.0 */

/* util/option.h: command lines, the values that they set, and the error messages for invalid command lines. */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "util/macros.h"
#include "util/option.h"

struct values {
    bool all, quiet;
    const char *file, *name;
    uint64_t count, bytes, usec;
    uint32_t cpus;
    unsigned n_words;
};

struct other_values {
    bool dry_run;
};

static int take_twice(void *at, char *value, const struct nm_option *o)
{
    unsigned *n = at;

    (void)value;
    if (*n == o->type->max)
        return -E2BIG;
    (*n)++;
    return 0;
}

#define AT(member) offsetof(struct values, member)

static const struct nm_option table[] = {
    NM_OPTION_FLAG('a', "all", AT(all)),
    NM_OPTION_FLAG('\0', "quiet", AT(quiet)),
    NM_OPTION_VALUE('f', "file", "FILE", &nm_option_any, AT(file)),
    NM_OPTION_VALUE('\0', "name", "NAME", NM_OPTION_TYPE(nm_option_take_text, "a name"), AT(name)),
    NM_OPTION_VALUE('n', "count", "N", NM_OPTION_RANGE(nm_option_take_u64, "a number from 2 to 9", 2, 9), AT(count)),
    NM_OPTION_VALUE('\0', "cpus", "N", NM_OPTION_RANGE(nm_option_take_u32, "a number", 0, UINT64_MAX), AT(cpus)),
    NM_OPTION_VALUE('\0', "size", "SIZE", NM_OPTION_RANGE(nm_option_take_size, "up to 1M", 1, NM_MIB), AT(bytes)),
    NM_OPTION_VALUE('\0', "time", "TIME", NM_OPTION_RANGE(nm_option_take_duration, "from 1s", NM_USEC_PER_SEC,
                                                         UINT64_MAX), AT(usec)),
    NM_OPTION_VALUE('w', "word", "WORD", NM_OPTION_RANGE(take_twice, NULL, 0, 2), AT(n_words)),
    NM_OPTION_PRINT('V', "version", ""),
    {0},
};

static const struct nm_option other_table[] = {
    NM_OPTION_FLAG('\0', "dry-run", offsetof(struct other_values, dry_run)),
    {0},
};

struct run {
    struct values values;
    struct other_values other;
    struct nm_option_fault fault; /* the error that was reported last */
    unsigned n_faults;
    char words[12][32], *argv[13];
    int argc, first;
};

static void note_fault(const struct nm_option_fault *fault, void *userdata)
{
    struct run *run = userdata;

    run->fault = *fault;
    run->n_faults++;
}

/* Splits a command line into words, and parses it. */
static int parse(struct run *run, bool stops, const char *line)
{
    const struct nm_option_parser p = {
        .tables = {{table, &run->values}, {other_table, &run->other}},
        .stops_at_operand = stops,
        .report_cb = note_fault,
        .userdata = run,
    };

    *run = (struct run){.argv = {(char *)"program"}, .argc = 1, .first = -1};
    for (size_t n; *line; line += n + (line[n] == ' ')) {
        n = strcspn(line, " ");
        (void)snprintf(run->words[run->argc], sizeof run->words[0], "%.*s", (int)n, line);
        run->argv[run->argc] = run->words[run->argc];
        run->argc++;
    }
    return nm_option_parse(&p, run->argc, run->argv, &run->first);
}

static void test_options_set_their_values(void **state)
{
    struct run run;

    (void)state;
    assert_int_equal(parse(&run, false, "-af x --count=9 --cpus 3 --size 1M --time 2s"), 0);
    assert_true(run.values.all);
    assert_false(run.values.quiet);
    assert_string_equal(run.values.file, "x");
    assert_int_equal(run.values.count, 9);
    assert_int_equal(run.values.cpus, 3);
    assert_int_equal(run.values.bytes, NM_MIB);
    assert_int_equal(run.values.usec, 2 * NM_USEC_PER_SEC);
    assert_int_equal(run.first, run.argc);
    assert_int_equal(parse(&run, false, "--dry-run --name n --file="), 0);
    assert_true(run.other.dry_run);
    assert_string_equal(run.values.name, "n");
    assert_string_equal(run.values.file, "");
}

static void test_operands_may_follow_the_options(void **state)
{
    struct run run;

    (void)state;
    assert_int_equal(parse(&run, false, "one -a two --quiet"), 0);
    assert_true(run.values.all && run.values.quiet);
    assert_int_equal(run.first, 3);
    assert_string_equal(run.argv[3], "one");
    assert_int_equal(parse(&run, true, "-a one --quiet"), 0);
    assert_true(run.values.all && !run.values.quiet);
    assert_int_equal(run.first, 2);
    assert_int_equal(parse(&run, false, "-a -- -q"), 0);
    assert_string_equal(run.argv[run.first], "-q");
    assert_int_equal(parse(&run, false, ""), 0);
    assert_int_equal(run.first, 1);
}

static void test_words_after_version_are_ignored(void **state)
{
    struct run run;

    (void)state;
    assert_int_equal(parse(&run, false, "-a --version --no-such"), NM_OPTION_DONE);
    assert_int_equal(run.n_faults, 0);
}

static void test_each_invalid_command_line_has_its_error(void **state)
{
    static const struct {
        const char *line;
        enum nm_option_fault_kind kind;
        const char *option, *word, *nearest; /* NULL: no name */
    } rows[] = {
        {"--no-such", NM_OPTION_UNKNOWN, NULL, "--no-such", NULL},
        {"--cuont=3", NM_OPTION_UNKNOWN, NULL, "--cuont=3", "count"},
        {"--dry-rum", NM_OPTION_UNKNOWN, NULL, "--dry-rum", "dry-run"},
        {"-ax", NM_OPTION_UNKNOWN, NULL, "-x", NULL},
        {"--count", NM_OPTION_NO_VALUE, "count", NULL, NULL},
        {"-an", NM_OPTION_NO_VALUE, "count", NULL, NULL},
        {"--all=yes", NM_OPTION_NEEDLESS_VALUE, "all", NULL, NULL},
        {"--count x", NM_OPTION_BAD_VALUE, "count", "x", NULL},
        {"--count 1", NM_OPTION_OUT_OF_RANGE, "count", "1", NULL},
        {"-n 10", NM_OPTION_OUT_OF_RANGE, "count", "10", NULL},
        {"--cpus 4294967296", NM_OPTION_OUT_OF_RANGE, "cpus", "4294967296", NULL},
        {"--size 2M", NM_OPTION_OUT_OF_RANGE, "size", "2M", NULL},
        {"--size big", NM_OPTION_BAD_VALUE, "size", "big", NULL},
        {"--time 1ms", NM_OPTION_OUT_OF_RANGE, "time", "1ms", NULL},
        {"--name=", NM_OPTION_BAD_VALUE, "name", "", NULL},
        {"-w 1 -w 2 -w 3", NM_OPTION_TOO_OFTEN, "word", "3", NULL},
    };
    struct run run;

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(rows); i++) {
        assert_int_equal(parse(&run, false, rows[i].line), -EINVAL);
        assert_int_equal(run.n_faults, 1);
        assert_int_equal(run.fault.kind, rows[i].kind);
        assert_string_equal(run.fault.option ? run.fault.option->name : "", rows[i].option ? rows[i].option : "");
        assert_string_equal(run.fault.word ? run.fault.word : "", rows[i].word ? rows[i].word : "");
        assert_string_equal(run.fault.nearest ? run.fault.nearest : "", rows[i].nearest ? rows[i].nearest : "");
        assert_int_equal(run.values.count, 0);
        assert_int_equal(run.first, -1);
    }
}

/* Checks the message for the error, which is written to a file instead of stderr. */
static void assert_reported(const struct nm_option_fault *fault, const char *expected)
{
    _cleanup_fclose_ FILE *f = tmpfile();
    int old = dup(STDERR_FILENO);
    char text[256] = "";

    assert_non_null(f);
    assert_true(old >= 0);
    assert_true(dup2(fileno(f), STDERR_FILENO) >= 0);
    nm_option_report(fault);
    (void)fflush(stderr);
    assert_true(dup2(old, STDERR_FILENO) >= 0);
    (void)close(old);
    assert_true(pread(fileno(f), text, sizeof text - 1, 0) > 0);
    assert_string_equal(text, expected);
}

static void test_each_error_message_is_complete(void **state)
{
    const struct nm_option *all = &table[0], *file = &table[2], *count = &table[4], *word = &table[8];

    (void)state;
    assert_reported(&(struct nm_option_fault){NM_OPTION_UNKNOWN, NULL, "--cuont", "count"},
                    "test-option: unknown option --cuont; did you mean --count?; see 'test-option --help'\n");
    assert_reported(&(struct nm_option_fault){NM_OPTION_UNKNOWN, NULL, "-x", NULL},
                    "test-option: unknown option -x; see 'test-option --help'\n");
    assert_reported(&(struct nm_option_fault){NM_OPTION_NO_VALUE, count, NULL, NULL},
                    "test-option: --count needs a value: a number from 2 to 9\n");
    assert_reported(&(struct nm_option_fault){NM_OPTION_NO_VALUE, file, NULL, NULL},
                    "test-option: --file needs a value: FILE\n");
    assert_reported(&(struct nm_option_fault){NM_OPTION_NEEDLESS_VALUE, all, NULL, NULL},
                    "test-option: --all takes no value\n");
    assert_reported(&(struct nm_option_fault){NM_OPTION_OUT_OF_RANGE, count, "10", NULL},
                    "test-option: --count '10': it must be a number from 2 to 9\n");
    assert_reported(&(struct nm_option_fault){NM_OPTION_TOO_OFTEN, word, "3", NULL},
                    "test-option: --word '3': it can be given at most 2 times\n");
}

static void test_an_option_is_found_by_its_long_and_short_name(void **state)
{
    char label[64];

    (void)state;
    assert_ptr_equal(nm_option_find(table, "--count"), &table[4]);
    assert_ptr_equal(nm_option_find(table, "-n"), &table[4]);
    assert_null(nm_option_find(table, "--coun"));
    assert_null(nm_option_find(table, "-nn"));
    assert_null(nm_option_find(NULL, "-n"));
    assert_string_equal(nm_option_label(&table[4], label, sizeof label), "-n, --count N");
    assert_string_equal(nm_option_label(&table[1], label, sizeof label), "    --quiet");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_set_their_values),
        cmocka_unit_test(test_operands_may_follow_the_options),
        cmocka_unit_test(test_words_after_version_are_ignored),
        cmocka_unit_test(test_each_invalid_command_line_has_its_error),
        cmocka_unit_test(test_each_error_message_is_complete),
        cmocka_unit_test(test_an_option_is_found_by_its_long_and_short_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
