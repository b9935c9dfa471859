/* SPDX-License-Identifier: Apache-2.0 */

/*
 * agent/config/config.h. The first tests compare the table of keys with the parser: defaults, values at and just
 * outside both ends of each range, and typing errors. The other tests read files and drop-ins, check refusals, and
 * check the packaged files that are made from the table.
 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "tests/unit/remove-tree.h"
#include "agent/config/config-keys.h"
#include "util/fileio.h"

static struct nm_config *defaults(void)
{
    struct nm_config *c = NULL;

    assert_int_equal(nm_config_new_defaults(&c), 0);
    return c;
}

static int read_text(struct nm_config *c, const char *text, char **ret_message)
{
    *ret_message = NULL;
    return nm_config_read_text(c, "FILE", text, strlen(text), NULL, ret_message);
}

/* ---- every key ---- */

static void test_the_table_of_keys_is_valid(void **state)
{
    (void)state;
    for (size_t i = 0; i < nm_config_n_keys; i++) {
        const struct nm_config_key *k = &nm_config_keys[i];
        assert_true(nm_config_has_section(k->section));
        assert_ptr_equal(nm_config_find_key(k->section, k->name), k); /* each name exists once */
        assert_true(strlen(k->meaning) > 10 && k->meaning[strlen(k->meaning) - 1] == '.');
        assert_true(!k->min == !k->max);
        assert_true(strspn(k->name, "abcdefghijklmnopqrstuvwxyz-") == strlen(k->name));
        /* two keys may not write to the same member */
        for (size_t j = 0; j < i; j++)
            assert_true(nm_config_keys[j].offset != k->offset);
    }
}

/* The table has each default in the form in which get() writes it, so that texts can be compared. */
static void test_a_default_in_the_table_equals_the_text_that_is_shown(void **state)
{
    _cleanup_(nm_config_freep) struct nm_config *c = defaults();

    (void)state;
    for (size_t i = 0; i < nm_config_n_keys; i++) {
        char value[NM_CONFIG_VALUE_SIZE];
        assert_string_equal(nm_config_get(c, &nm_config_keys[i], value, sizeof value),
                            nm_config_keys[i].fallback);
    }
}

/* Writes a text just outside of a key's range, for each kind of number. */
static void beyond(const struct nm_config_key *k, bool above, char *buf, size_t size)
{
    const char *edge = above ? k->max : k->min;
    size_t digits = strspn(edge, "0123456789");
    uint64_t n = strtoull(edge, NULL, 10);

    if (k->type == NM_CONFIG_FRACTION && above)
        (void)snprintf(buf, size, "%s0000001", strchr(edge, '.') ? edge : "1.");
    else if (k->type == NM_CONFIG_MODE)
        (void)snprintf(buf, size, "%s", above ? "1000" : "0577");
    else if (above)
        (void)snprintf(buf, size, "%" PRIu64 "%s", n + 1, edge + digits);
    else if (n == 0 || strchr(edge, '.'))
        (void)snprintf(buf, size, "-%s", edge);
    else
        (void)snprintf(buf, size, "%" PRIu64 "%s", n - 1, edge + digits);
}

static void expect_set(const struct nm_config_key *k, const char *text, bool good)
{
    _cleanup_(nm_config_freep) struct nm_config *c = defaults();
    char before[NM_CONFIG_VALUE_SIZE], after[NM_CONFIG_VALUE_SIZE];
    int r;

    nm_config_get(c, k, before, sizeof before);
    r = nm_config_set(c, k, text);
    nm_config_get(c, k, after, sizeof after);
    if (good ? r != 0 : r != -EINVAL && r != -ERANGE)
        fail_msg("[%s] %s = %s: got %d", k->section, k->name, text, r);
    if (!good && !nm_streq(before, after))
        fail_msg("[%s] %s = %s: refused, but it became %s", k->section, k->name, text, after);
}

static void test_values_out_of_range_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < nm_config_n_keys; i++) {
        const struct nm_config_key *k = &nm_config_keys[i];
        char text[64];
        if (!k->min)
            continue;
        expect_set(k, k->min, !k->min_exclusive);
        expect_set(k, k->max, true);
        beyond(k, true, text, sizeof text);
        expect_set(k, text, false);
        beyond(k, false, text, sizeof text);
        expect_set(k, text, false);
        expect_set(k, "", false);
        expect_set(k, "much", false);
        expect_set(k, "99999999999999999999999999", false);
        if (k->word)
            expect_set(k, k->word, true);
    }
}

static void test_each_printed_value_is_parsed_as_the_same_value(void **state)
{
    static const struct {
        const char *section, *name, *text, *printed;
    } rows[] = {
        {"node", "memory", "1536M", "1536M"},
        {"node", "memory", "2048 MiB", "2G"},
        {"node", "memory", "33333333", "33333333"},
        {"node", "system-reserved-memory", "0", "0"},
        {"node", "system-reserved-vcores", "0.125", "0.125"},
        {"over-allocation", "cpu-threshold", "82.5%", "0.825"},
        {"over-allocation", "warmup", "0", "0s"},
        {"over-allocation", "warmup", "90", "90s"},
        {"over-allocation", "warmup", "1500ms", "1500ms"},
        {"over-allocation", "warmup", "60min", "1h"},
        {"sampling", "uplink-threshold", "off", "off"},
        {"sampling", "uplink-speed-mbit", "auto", "auto"},
        {"containers", "pids-max", "none", "none"},
        {"containers", "pids-max", "auto", "auto"},
        {"containers", "pids-max", "4096", "4096"},
        {"containers", "banned-users", "_a,b.c  1001,", "_a b.c 1001"},
        {"interface", "socket-mode", "666", "0666"},
        {"interface", "http-address", "[::1]:80", "[::1]:80"},
        {"interface", "admin-group", "", ""},
        {"preemption", "victim-order", "app-fair", "app-fair"},
        {"queue", "order", "smallest-first", "smallest-first"},
        {"preemption", "pause", "off", "no"},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(rows); i++) {
        _cleanup_(nm_config_freep) struct nm_config *c = defaults();
        const struct nm_config_key *k = nm_config_find_key(rows[i].section, rows[i].name);
        char value[NM_CONFIG_VALUE_SIZE];

        assert_non_null(k);
        nm_config_clear_list(c, k);
        assert_int_equal(nm_config_set(c, k, rows[i].text), 0);
        assert_string_equal(nm_config_get(c, k, value, sizeof value), rows[i].printed);
        nm_config_clear_list(c, k);
        assert_int_equal(nm_config_set(c, k, value), 0);
        assert_string_equal(nm_config_get(c, k, value, sizeof value), rows[i].printed);
    }
}

static void test_invalid_values_are_refused(void **state)
{
    static const struct {
        const char *section, *name, *text;
    } rows[] = {
        {"interface", "http-address", "localhost:80"},
        {"interface", "http-address", "127.0.0.1"},
        {"interface", "http-address", "127.0.0.1:0"},
        {"interface", "http-address", "127.0.0.1:65536"},
        {"interface", "http-address", "::1:80"},
        {"interface", "http-address", "[::1:80"},
        {"interface", "http-address", "[]:80"},
        {"interface", "http-address", ":80"},
        {"interface", "http-address", "127.0.0.1:80 "},
        {"interface", "socket-mode", "0888"},
        {"interface", "socket-mode", "rw-rw----"},
        {"interface", "admin-group", "a b"},
        {"interface", "admin-group", "../x"},
        {"health", "script", "check.sh"},
        {"paths", "log-dir", "logs"},
        {"containers", "banned-users", "a/b"},
        {"containers", "banned-users", "-x"},
        {"containers", "banned-users", "a;b"},
        {"preemption", "pause", "maybe"},
        {"preemption", "victim-order", "newest"},
        {"queue", "order", ""},
        {"preemption", "pause", ""},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(rows); i++) {
        const struct nm_config_key *k = nm_config_find_key(rows[i].section, rows[i].name);
        assert_non_null(k);
        expect_set(k, rows[i].text, false);
    }
}

static void test_too_many_users_are_refused(void **state)
{
    _cleanup_(nm_config_freep) struct nm_config *c = defaults();
    const struct nm_config_key *k = nm_config_find_key("containers", "banned-users");
    unsigned before = c->n_banned_users;

    (void)state;
    for (unsigned i = before; i < NM_BANNED_USERS_MAX - 1; i++)
        assert_int_equal(nm_config_set(c, k, "someone"), 0);
    assert_int_equal(nm_config_set(c, k, "one two"), -ERANGE);
    assert_int_equal(c->n_banned_users, NM_BANNED_USERS_MAX - 1); /* a list that is too long adds no member */
    assert_int_equal(nm_config_set(c, k, "one"), 0);
}

/* ---- text of a file ---- */

static void test_spaces_comments_and_line_ends_are_accepted(void **state)
{
    static const char text[] = "\xef\xbb\xbf# a comment\r\n"
                               "; another\n"
                               "[node]\r\n"
                               "memory = 3G\r\n"
                               "   vcores: 7   ; inline\n"
                               "\n"
                               "[preemption]\n"
                               "\tpause=no\n"
                               "[node]\n"
                               "system-reserved-memory = 1G"; /* no newline at the end */
    _cleanup_(nm_config_freep) struct nm_config *c = defaults();
    _cleanup_free_ char *message = NULL;

    (void)state;
    if (read_text(c, text, &message) < 0)
        fail_msg("%s", message);
    assert_true(c->memory_bytes == UINT64_C(3) << 30);
    assert_int_equal(c->vcores, 7);
    assert_false(c->pause);
    assert_true(c->system_reserved_memory_bytes == UINT64_C(1) << 30);
    assert_true(c->squeeze);
}

static void test_the_message_of_a_refusal_names_the_line(void **state)
{
    static const struct {
        const char *text,
            *message; /* message: the whole message, or its beginning if it ends in "..." */
    } rows[] = {
        {"[node]\nmemry = 3G", "FILE:2: [node] memry: no such key, did you mean memory?"},
        {"[queue]\nmax_length = 5",
         "FILE:2: [queue] max_length: no such key, did you mean max-length?"},
        {"[queue]\nperiod = 3s",
         "FILE:2: [queue] period: no such key here, did you mean [sampling] period?"},
        {"[node]\ncolour = red", "FILE:2: [node] colour: no such key, see nmd.conf(5)"},
        {"memory = 3G", "FILE:1: memory: a key must follow a [section] heading"},
        {"[quque]\n", "FILE:1: [quque]: no such section, did you mean [queue]?"},
        {"[weather]", "FILE:1: [weather]: no such section, see nmd.conf(5)"},
        {"[Node]\nmemory = 3G", "FILE:1: [Node]: no such section, did you mean [node]?"},
        {"[node]\n\nmemory = 3X",
         "FILE:3: [node] memory = 3X: allowed is auto, or a size from 16M to 1024T"},
        {"[node]\nmemory = -3G", "FILE:2: [node] memory = -3G: allowed is ..."},
        {"[node]\nmemory =", "FILE:2: [node] memory = : allowed is ..."},
        {"[sampling]\nperiod = 50ms",
         "FILE:2: [sampling] period = 50ms: allowed is a duration from 100ms to 60s"},
        {"[sampling]\nperiod = 3s # often",
         "FILE:2: [sampling] period = 3s # often: allowed is ..."},
        {"[preemption]\nvictim-order = oldest",
         "FILE:2: [preemption] victim-order = oldest: allowed is reverse-arrival, least-work-lost, "
         "fewest-victims or "
         "app-fair"},
        {"[preemption]\nmemory-threshold = 1.1",
         "FILE:2: [preemption] memory-threshold = 1.1: allowed is a fraction or percentage above 0 "
         "and at most 1"},
        {"[preemption]\npause = yes\npause = no",
         "FILE:3: [preemption] pause: already given on line 2"},
        {"[preemption]\npause",
         "FILE:2: pause: neither \"[section]\" nor \"key = value\" nor a comment"},
        {"[node] vcores = 3\n", "FILE:1: [node] vcores = 3: neither ..."},
        {"[node]\r\nab\r\nbad = 1", "FILE:2: ab: neither ..."},
        {"[node]\na ; b = c\n", "FILE:2: a ; b = c: neither ..."},
        {"[node]\nab", "FILE:2: ab: neither ..."},
        {"# x\n[node\nmemory = 3G", "FILE:2: [node: neither ..."},
        {"[node]\nmemory = \x1b[31m3G\n", "FILE:2: [node] memory = ?[31m3G: allowed is ..."},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(rows); i++) {
        _cleanup_(nm_config_freep) struct nm_config *c = defaults();
        _cleanup_free_ char *message = NULL;
        size_t n = strlen(rows[i].message);

        assert_int_equal(read_text(c, rows[i].text, &message), -EINVAL);
        assert_non_null(message);
        if (nm_streq(rows[i].message + n - 3, "...") ? strncmp(message, rows[i].message, n - 3) != 0
                                                     : !nm_streq(message, rows[i].message))
            fail_msg("expected \"%s\", got \"%s\"", rows[i].message, message);
    }
}

/* inih's buffer holds 200 bytes. A longer line must not be read as two lines. */
static void test_a_long_line_is_not_read_as_two_lines(void **state)
{
    _cleanup_(nm_config_freep) struct nm_config *c = defaults();
    _cleanup_free_ char *message = NULL;
    char text[600];

    (void)state;
    (void)snprintf(text, sizeof text, "# %0400d\n[node]\nvcores = 3\n", 1);
    assert_int_equal(read_text(c, text, &message), 0);
    assert_int_equal(c->vcores, 3);
    (void)snprintf(text, sizeof text, "[node]\nvcores = %0195d\n", 5);
    assert_int_equal(read_text(c, text, &message), -EINVAL);
    assert_non_null(strstr(message, "FILE:2: "));
    assert_non_null(strstr(message, "too long"));
    assert_int_equal(c->vcores, 3);
}

static void test_a_nul_byte_in_a_configuration_file_is_refused(void **state)
{
    static const char text[] = "[node]\nvcores = 3\0 4\n";
    _cleanup_(nm_config_freep) struct nm_config *c = defaults();
    _cleanup_free_ char *message = NULL;

    (void)state;
    assert_int_equal(nm_config_read_text(c, "FILE", text, sizeof text - 1, NULL, &message),
                     -EINVAL);
    assert_non_null(strstr(message, "FILE:2: vcores = 3? 4: the line contains a NUL byte"));
}

static void test_lists_of_values_are_parsed(void **state)
{
    const struct nm_config_key *k = nm_config_find_key("containers", "banned-users");
    _cleanup_(nm_config_freep) struct nm_config *c = defaults();
    _cleanup_free_ char *message = NULL;
    char value[NM_CONFIG_VALUE_SIZE];

    (void)state;
    assert_int_equal(read_text(c, "[containers]\nbanned-users = a b\nbanned-users = c\n", &message),
                     0);
    assert_string_equal(nm_config_get(c, k, value, sizeof value), "a b c");
    assert_int_equal(read_text(c, "[containers]\nbanned-users = d\n", &message), 0);
    assert_string_equal(nm_config_get(c, k, value, sizeof value), "d");
    assert_int_equal(read_text(c, "[containers]\nbanned-users =\n", &message), 0);
    assert_string_equal(nm_config_get(c, k, value, sizeof value), "");
}

/* ---- between keys ---- */

static void test_contradicting_values_are_refused(void **state)
{
    static const struct {
        const char *text, *part; /* part of the message; NULL: accepted */
    } rows[] = {
        {"[over-allocation]\nmemory-threshold = 0.95",
         "FILE:2: [over-allocation] memory-threshold = 0.95: must be below [preemption] "
         "memory-threshold, which is "
         "0.95"},
        {"[over-allocation]\ncpu-threshold = 1",
         "must be below [preemption] cpu-threshold, which is auto"},
        {"[over-allocation]\ncpu-threshold = 0.8\n[preemption]\ncpu-threshold = 0.8",
         "FILE:2: [over-allocation] cpu-threshold = 0.8: must be below [preemption] cpu-threshold, "
         "which is 0.8"},
        /* An automatic value adapts to the value of the other key. */
        {"[preemption]\ncpu-threshold = 0.2", NULL},
        {"[over-allocation]\ncpu-threshold = 0.999", NULL},
        {"[sampling]\npressure-stall = 500ms",
         "must be below [sampling] pressure-window, which is 500ms"},
        {"[over-allocation]\nmemory-threshold = 0.5\ncpu-threshold = 0.949999999", NULL},
        {"[sampling]\npressure-stall = 500ms\npressure-window = 501ms", NULL},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(rows); i++) {
        _cleanup_(nm_config_freep) struct nm_config *c = defaults();
        _cleanup_free_ char *message = NULL;
        _cleanup_free_ struct nm_config_source *sources = calloc(nm_config_n_keys, sizeof *sources);

        assert_int_equal(
            nm_config_read_text(c, "FILE", rows[i].text, strlen(rows[i].text), sources, &message),
            0);
        assert_int_equal(nm_config_check(c, sources, &message), rows[i].part ? -EINVAL : 0);
        if (rows[i].part && !strstr(message, rows[i].part))
            fail_msg("expected \"%s\", got \"%s\"", rows[i].part, message);
    }
}

/* ---- files ---- */

static char directory[64];

static int set_up(void **state)
{
    char path[128];

    (void)state;
    (void)snprintf(directory, sizeof directory, "/tmp/nmd-test-config-XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    (void)snprintf(path, sizeof path, "%s/nmd.conf.d", directory);
    return mkdir(path, 0755);
}

static int tear_down(void **state)
{
    (void)state;
    return remove_tree(directory);
}

static void put(const char *name, const char *text)
{
    _cleanup_fclose_ FILE *f = NULL;
    char path[128];

    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    f = fopen(path, "we");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
}

static int load(bool must_exist, struct nm_config **ret, char **ret_message)
{
    char path[128];

    (void)snprintf(path, sizeof path, "%s/nmd.conf", directory);
    return nm_config_load(path, must_exist, NULL, ret, ret_message);
}

/* Defaults of another source (here a cluster's file) apply to keys that no file of nmd sets. */
static void test_defaults_of_another_source_apply_to_keys_that_are_not_set(void **state)
{
    struct nm_config_default defaults[] = {{"node", "memory", "800M", "site.xml"},
                                           {"queue", "max-length", "7", "site.xml"}, {}};
    size_t memory = (size_t)(nm_config_find_key("node", "memory") - nm_config_keys);
    size_t queue = (size_t)(nm_config_find_key("queue", "max-length") - nm_config_keys);
    size_t vcores = (size_t)(nm_config_find_key("node", "vcores") - nm_config_keys);
    struct nm_config *c = NULL;
    char path[128], *message = NULL;

    (void)state;
    (void)snprintf(path, sizeof path, "%s/nmd.conf", directory);
    put("nmd.conf", "[queue]\nmax-length = 3\n");
    assert_int_equal(nm_config_load(path, true, defaults, &c, &message), 0);
    assert_int_equal(c->memory_bytes, 800 * NM_MIB);
    assert_string_equal(c->sources[memory], "site.xml");
    assert_int_equal(c->queue_max_length, 3);
    assert_non_null(strstr(c->sources[queue], "nmd.conf:2"));
    assert_null(c->sources[vcores]);
    c = nm_config_free(c);
    defaults[0].value = "1M";
    assert_int_equal(nm_config_load(path, true, defaults, &c, &message), -ERANGE);
    assert_non_null(strstr(message, "site.xml: as [node] memory = 1M: must be auto, or a size from 16M"));
    assert_null(c);
    free(message);
    defaults[0] = (struct nm_config_default){"queue", "oder", "fifo", "site.xml"};
    assert_int_equal(nm_config_load(path, true, defaults, &c, &message), -EINVAL);
    assert_string_equal(message, "site.xml: there is no key oder in [queue]");
    assert_null(c);
    free(message);
}

/* A default of another source contradicts nmd's own default, and no file of nmd sets either key. The message names the
 * source. */
static void test_the_message_of_contradicting_defaults_names_their_source(void **state)
{
    const struct nm_config_default defaults[] = {{"over-allocation", "memory-threshold", "0.97", "site.xml"}, {}};
    _cleanup_free_ char *message = NULL;
    struct nm_config *c = NULL;
    char path[128];

    (void)state;
    (void)snprintf(path, sizeof path, "%s/nmd.conf", directory);
    put("nmd.conf", "[queue]\nmax-length = 3\n");
    assert_int_equal(nm_config_load(path, true, defaults, &c, &message), -EINVAL);
    assert_ptr_equal(strstr(message, "site.xml: [over-allocation] memory-threshold = 0.97: must be below"), message);
    assert_null(c);
}

static void test_a_missing_configuration_file_is_an_error(void **state)
{
    _cleanup_(nm_config_freep) struct nm_config *c = NULL;
    _cleanup_free_ char *message = NULL;

    (void)state;
    assert_int_equal(load(true, &c, &message), -ENOENT);
    assert_null(c);
    assert_non_null(strstr(message, "/nmd.conf: no such file"));
    free(STEAL_PTR(message));
    assert_int_equal(load(false, &c, &message), 0);
    assert_int_equal(c->queue_max_length, 500);
    assert_null(message);
}

static void test_drop_ins_override_the_main_file(void **state)
{
    _cleanup_(nm_config_freep) struct nm_config *c = NULL;
    _cleanup_free_ char *message = NULL;

    (void)state;
    put("nmd.conf", "[queue]\nmax-length = 1\n[node]\nvcores = 1\n[preemption]\ncpu-samples = 1\n");
    put("nmd.conf.d/20-b.conf", "[node]\nvcores = 3\n");
    put("nmd.conf.d/10-a.conf", "[node]\nvcores = 2\n[preemption]\ncpu-samples = 2\n");
    put("nmd.conf.d/30-c.conf.dpkg-old", "[node]\nvcores = 4\n");
    put("nmd.conf.d/.40-d.conf", "[node]\nvcores = 5\n");
    put("nmd.conf.d/.conf", "[node]\nvcores = 6\n");
    assert_int_equal(load(true, &c, &message), 0);
    assert_int_equal(c->queue_max_length, 1);
    assert_int_equal(c->vcores, 3);
    assert_int_equal(c->cpu_samples, 2);
}

/* One invalid line in any file makes nmd refuse all files. */
static void test_one_invalid_line_makes_nmd_refuse_all_files(void **state)
{
    struct nm_config *c = (struct nm_config *)directory; /* must be unchanged on failure */
    _cleanup_free_ char *message = NULL;

    (void)state;
    put("nmd.conf", "[queue]\nmax-length = 1\n");
    put("nmd.conf.d/10-a.conf", "[queue]\nmax-length = ten\n");
    assert_int_equal(load(true, &c, &message), -EINVAL);
    assert_ptr_equal(c, directory);
    assert_non_null(
        strstr(message, "/nmd.conf.d/10-a.conf:2: [queue] max-length = ten: allowed is"));
}

/* The two values of a contradiction may be in different files. The message names the place of one value. */
static void test_the_message_of_a_contradiction_names_the_file_and_line_of_one_value(void **state)
{
    _cleanup_(nm_config_freep) struct nm_config *c = NULL;
    _cleanup_free_ char *message = NULL;

    (void)state;
    put("nmd.conf", "[preemption]\nmemory-threshold = 0.7\n");
    put("nmd.conf.d/10-a.conf", "\n\n[over-allocation]\nmemory-threshold = 0.75\n");
    assert_int_equal(load(true, &c, &message), -EINVAL);
    assert_non_null(strstr(
        message,
        "/nmd.conf.d/10-a.conf:4: [over-allocation] memory-threshold = 0.75: must be below"));
    assert_null(c);
}

/* A contradiction is reported beside other errors, but only if both values of the contradiction were read without an
 * error. */
static void test_a_contradiction_is_reported_beside_other_errors(void **state)
{
    static const struct {
        const char *text;
        bool reported;
    } rows[] = {
        {"[queue]\npolicy = x\n[over-allocation]\nmemory-threshold = 0.97\n", true},
        {"[preemption]\nmemory-threshold = high\n[over-allocation]\nmemory-threshold = 0.97\n", false},
        {"[preemption]\nmemory-treshold = 0.99\n[over-allocation]\nmemory-threshold = 0.97\n", false},
        {"[premption]\nmemory-threshold = 0.99\n[over-allocation]\nmemory-threshold = 0.97\n", false},
        {"[over-allocation]\nmemory-threshold = 97\n[preemption]\nmemory-threshold = 0.5\n", false},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(rows); i++) {
        _cleanup_(nm_config_freep) struct nm_config *c = NULL;
        _cleanup_free_ char *message = NULL;

        put("nmd.conf", rows[i].text);
        assert_int_equal(load(true, &c, &message), -EINVAL);
        if ((strstr(message, "must be below") != NULL) != rows[i].reported)
            fail_msg("%s: %s", rows[i].text, message);
        assert_int_equal(strchr(message, '\n') != NULL, rows[i].reported); /* it has its own line */
    }
}

static void test_an_unreadable_configuration_file_is_an_error(void **state)
{
    _cleanup_(nm_config_freep) struct nm_config *c = NULL;
    _cleanup_free_ char *message = NULL;
    _cleanup_free_ char *large = malloc(300 * 1024);
    char path[128];

    (void)state;
    (void)snprintf(path, sizeof path, "%s/nmd.conf.d/10-dir.conf", directory);
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(load(false, &c, &message), -EISDIR);
    assert_non_null(strstr(message, "10-dir.conf: can't be read: Is a directory"));
    free(STEAL_PTR(message));
    assert_int_equal(rmdir(path), 0);

    memset(large, '#', 300 * 1024 - 1);
    large[300 * 1024 - 1] = '\0';
    put("nmd.conf", large);
    assert_int_equal(load(false, &c, &message), -E2BIG);
    assert_non_null(strstr(message, "/nmd.conf: larger than 256 KiB"));
}

/* ---- files made from the table ------ */

static void test_changed_keys_that_need_a_restart_are_named(void **state)
{
    _cleanup_(nm_config_freep) struct nm_config *a = defaults(), *b = defaults();
    _cleanup_free_ char *message = NULL;
    char buf[256];

    (void)state;
    assert_string_equal(nm_config_needs_restart(a, b, buf, sizeof buf), "");
    assert_int_equal(
        read_text(
            b,
            "[queue]\nmax-length = 3\n[interface]\nsocket-mode = 0666\nhttp-address = 127.0.0.1:1",
            &message),
        0);
    assert_string_equal(nm_config_needs_restart(a, b, buf, sizeof buf),
                        "[interface] socket-mode, [interface] http-address");
    assert_true(strlen(nm_config_needs_restart(a, b, buf, 12)) < 12);
}

static void test_the_json_of_the_configuration_has_each_key(void **state)
{
    _cleanup_(nm_config_freep) struct nm_config *c = defaults();
    _cleanup_free_ char *message = NULL;
    json_t *array;

    (void)state;
    assert_int_equal(read_text(c, "[queue]\nmax-length = 3", &message), 0);
    array = nm_config_to_json(c, NULL, 0);
    assert_int_equal(json_array_size(array), nm_config_n_keys);
    for (size_t i = 0; i < nm_config_n_keys; i++) {
        const json_t *o = json_array_get(array, i);
        bool changed = nm_streq(nm_config_keys[i].name, "max-length");
        assert_string_equal(json_string_value(json_object_get(o, "key")), nm_config_keys[i].name);
        assert_string_equal(json_string_value(json_object_get(o, "value")),
                            changed ? "3" : nm_config_keys[i].fallback);
        assert_int_equal(json_is_true(json_object_get(o, "is_default")), !changed);
        assert_non_null(json_object_get(o, "meaning"));
        assert_non_null(json_object_get(o, "allowed"));
    }
    json_decref(array);
}

/* With the stall guard the automatic thresholds are higher. Thresholds that are set never change. */
static void test_the_stall_guard_raises_automatic_thresholds(void **state)
{
    static const struct {
        double alpha, beta; /* 0: auto */
        bool guarded;
        double got_alpha, got_beta;
    } rows[] = {
        {0, 0, false, 0.8, 0.95}, {0, 0, true, 0.99, 1},        {0.5, 0.6, true, 0.5, 0.6},
        {0, 0.9, false, 0.8, 0.9}, {0.9, 0, true, 0.9, 1},      {0.9, 0, false, 0.9, 0.95},
        {0.97, 0, false, 0.97, 0.985}, {0, 0.95, true, 0.8, 0.95}, {0, 0.19, false, 0.16, 0.19},
    };

    (void)state;
    for (size_t i = 0; i < NM_ARRAY_SIZE(rows); i++) {
        _cleanup_(nm_config_freep) struct nm_config *c = defaults();
        struct nm_fractions_cpu f;

        c->over_allocation_threshold.cpu = rows[i].alpha;
        c->preemption_threshold.cpu = rows[i].beta;
        f = nm_config_cpu_thresholds(c, rows[i].guarded);
        assert_true(f.alpha < f.beta);
        assert_float_equal(f.alpha, rows[i].got_alpha, 1e-9);
        assert_float_equal(f.beta, rows[i].got_beta, 1e-9);
    }
}

/* The JSON names the drop-in that set a key, and has the value that "auto" stands for. */
static void test_the_json_of_the_configuration_names_the_source_of_a_value(void **state)
{
    const struct nm_config_note note = {"preemption", "cpu-threshold", "0.95", "low: for a reason"};
    _cleanup_(nm_config_freep) struct nm_config *c = NULL;
    _cleanup_free_ char *message = NULL;
    json_t *array, *o;
    size_t i;

    (void)state;
    put("nmd.conf", "[queue]\norder = fifo\n");
    put("nmd.conf.d/10-a.conf", "\n[queue]\nmax-length = 7\n");
    assert_int_equal(load(true, &c, &message), 0);
    array = nm_config_to_json(c, &note, 1);
    json_array_foreach(array, i, o) {
        const char *source = json_string_value(json_object_get(o, "source"));
        bool noted = nm_streq(nm_config_keys[i].section, "preemption") &&
                     nm_streq(nm_config_keys[i].name, "cpu-threshold");

        if (nm_streq(nm_config_keys[i].name, "max-length"))
            assert_non_null(strstr(source, "/nmd.conf.d/10-a.conf:3"));
        else if (nm_streq(nm_config_keys[i].name, "order"))
            assert_non_null(strstr(source, "/nmd.conf:2"));
        else
            assert_string_equal(source, "default");
        if (noted)
            assert_string_equal(json_string_value(json_object_get(o, "why")), note.why);
        else
            assert_true(json_is_null(json_object_get(o, "in_force")));
    }
    json_decref(array);
}

static char *slurp(const char *path)
{
    char *text = malloc(256 * 1024);

    assert_non_null(text);
    if (nm_read_file_at(AT_FDCWD, path, text, 256 * 1024, NULL) < 0)
        fail_msg("%s can't be read", path);
    return text;
}

static char *printed(int (*print)(FILE *))
{
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);

    assert_non_null(f);
    assert_int_equal(print(f), 0);
    assert_int_equal(fclose(f), 0);
    return text;
}

/* If the comment signs before all keys are removed, the template is a file with the default of each key. */
static void test_the_packaged_template_has_the_defaults(void **state)
{
    _cleanup_(nm_config_freep) struct nm_config *c = defaults();
    _cleanup_free_ char *text = printed(nm_config_print_template), *message = NULL;
    size_t n_keys = 0;

    (void)state;
    for (char *s = text; (s = strstr(s, "\n#")); s++)
        if (s[2] >= 'a' && s[2] <= 'z') {
            s[1] = ' ';
            n_keys++;
        }
    assert_int_equal(n_keys, nm_config_n_keys);
    if (read_text(c, text, &message) < 0)
        fail_msg("%s", message);
    test_a_default_in_the_table_equals_the_text_that_is_shown(state);
    for (size_t i = 0; i < nm_config_n_keys; i++) {
        char value[NM_CONFIG_VALUE_SIZE];
        assert_string_equal(nm_config_get(c, &nm_config_keys[i], value, sizeof value),
                            nm_config_keys[i].fallback);
    }
}

static void test_the_packaged_configuration_file_is_valid(void **state)
{
    _cleanup_free_ char *expected = printed(nm_config_print_template);
    _cleanup_free_ char *packaged = slurp(NM_TEST_SRCDIR "/packaging/nmd.conf");

    (void)state;
    if (!nm_streq(expected, packaged))
        fail_msg(
            "packaging/nmd.conf differs from the table of keys: run `make update-config-docs`");
}

static void test_the_manual_has_each_key(void **state)
{
    _cleanup_free_ char *keys = printed(nm_config_print_man);
    _cleanup_free_ char *manual = slurp(NM_TEST_SRCDIR "/packaging/nmd.conf.5");

    (void)state;
    if (!strstr(manual, keys))
        fail_msg("packaging/nmd.conf.5 differs from the table of keys: run `make "
                 "update-config-docs`");
}

int main(void)
{
#define WITH_DIRECTORY(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_table_of_keys_is_valid),
        cmocka_unit_test(test_a_default_in_the_table_equals_the_text_that_is_shown),
        cmocka_unit_test(test_values_out_of_range_are_refused),
        cmocka_unit_test(test_each_printed_value_is_parsed_as_the_same_value),
        cmocka_unit_test(test_invalid_values_are_refused),    cmocka_unit_test(test_too_many_users_are_refused),
        cmocka_unit_test(test_spaces_comments_and_line_ends_are_accepted),
        cmocka_unit_test(test_the_message_of_a_refusal_names_the_line),
        cmocka_unit_test(test_a_long_line_is_not_read_as_two_lines),
        cmocka_unit_test(test_a_nul_byte_in_a_configuration_file_is_refused),
        cmocka_unit_test(test_lists_of_values_are_parsed),
        cmocka_unit_test(test_contradicting_values_are_refused),
        WITH_DIRECTORY(test_the_message_of_contradicting_defaults_names_their_source),
        WITH_DIRECTORY(test_defaults_of_another_source_apply_to_keys_that_are_not_set),
        WITH_DIRECTORY(test_a_missing_configuration_file_is_an_error),
        WITH_DIRECTORY(test_drop_ins_override_the_main_file),
        WITH_DIRECTORY(test_one_invalid_line_makes_nmd_refuse_all_files),
        WITH_DIRECTORY(test_the_message_of_a_contradiction_names_the_file_and_line_of_one_value),
        WITH_DIRECTORY(test_a_contradiction_is_reported_beside_other_errors),
        WITH_DIRECTORY(test_an_unreadable_configuration_file_is_an_error),
        cmocka_unit_test(test_changed_keys_that_need_a_restart_are_named),
        cmocka_unit_test(test_the_stall_guard_raises_automatic_thresholds),
        WITH_DIRECTORY(test_the_json_of_the_configuration_names_the_source_of_a_value),
        cmocka_unit_test(test_the_json_of_the_configuration_has_each_key),
        cmocka_unit_test(test_the_packaged_template_has_the_defaults),
        cmocka_unit_test(test_the_packaged_configuration_file_is_valid), cmocka_unit_test(test_the_manual_has_each_key),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
