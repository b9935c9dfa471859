/* SPDX-License-Identifier: Apache-2.0 */

/* nm-shim --list-files: the list of files in a container's working directory. */

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "remove-tree.h"
#include "util/macros.h"

static char dir[32], *text; /* the listed directory, and its list */

static int set_up(void **state)
{
    (void)state;
    snprintf(dir, sizeof dir, "/tmp/nmd-shim-list.XXXXXX");
    assert_non_null(mkdtemp(dir));
    assert_int_equal(chdir(dir), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(text);
    text = NULL;
    assert_int_equal(chdir("/"), 0);
    return remove_tree(dir);
}

/* Lists a directory into `text`. Returns the exit status. */
static int list(const char *path)
{
    char command[PATH_MAX];
    size_t size = 0;
    int status;
    FILE *f;

    snprintf(command, sizeof command, "exec '" NM_TEST_SHIM "' --list-files '%s' 2>&1", path);
    f = popen(command, "r");
    assert_non_null(f);
    free(text);
    text = NULL;
    (void)getdelim(&text, &size, '\0', f);
    status = pclose(f);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void put(const char *path, mode_t mode)
{
    FILE *f = fopen(path, "we");

    assert_non_null(f);
    assert_true(fputs("12345", f) >= 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(path, mode), 0);
}

/* Returns how often the part of the text from the line `from` to the line `to` contains `what`. "" stands for the start
 * and the end of the text. */
static unsigned count(const char *from, const char *to, const char *what)
{
    const char *at = strstr(text, from), *end = *to ? strstr(text, to) : text + strlen(text);
    unsigned n = 0;

    assert_true(at && end);
    while ((at = strstr(at, what)) && at < end) {
        at += strlen(what);
        n++;
    }
    return n;
}

#define FIND "find -L . -maxdepth 5 -ls:\n"
#define BROKEN "broken symlinks(find -L . -maxdepth 5 -type l -ls):\n"

static void test_the_list_has_three_parts(void **state)
{
    (void)state;
    put("plain", 0640);
    put("tool", 04755);
    assert_int_equal(mkdir("sub", 0755), 0);
    assert_int_equal(chmod("sub", 01777), 0);
    put("sub/file", 0600);
    assert_int_equal(symlink("plain", "good"), 0);
    assert_int_equal(symlink("/no/such", "bad"), 0);
    assert_int_equal(symlink("../gone", "sub/bad"), 0);
    assert_int_equal(list("."), 0);
    assert_true(strncmp(text, "ls -l:\n", 7) == 0);
    /* the first part has the entries themselves */
    assert_int_equal(count("", FIND, " good -> plain\n"), 1);
    assert_int_equal(count("", FIND, " bad -> /no/such\n"), 1);
    assert_int_equal(count("", FIND, " -rw-r----- "), 1);
    assert_int_equal(count("", FIND, " -rwsr-xr-x "), 1);
    assert_int_equal(count("", FIND, " drwxrwxrwt "), 1);
    assert_int_equal(count("", FIND, "file"), 0);
    /* the second part follows links */
    assert_int_equal(count(FIND, BROKEN, " .\n"), 1);
    assert_int_equal(count(FIND, BROKEN, " -rw-r----- "), 2);
    assert_int_equal(count(FIND, BROKEN, " ./good\n"), 1);
    assert_int_equal(count(FIND, BROKEN, " ./bad -> /no/such\n"), 1);
    assert_int_equal(count(FIND, BROKEN, " ./sub/file\n"), 1);
    assert_int_equal(count(FIND, BROKEN, " ./sub/bad -> ../gone\n"), 1);
    assert_int_equal(count(BROKEN, "", "\n"), 3);
    assert_int_equal(count(BROKEN, "", " ./bad -> /no/such\n"), 1);
    assert_int_equal(count(BROKEN, "", " ./sub/bad -> ../gone\n"), 1);
}

/* Files are listed down to a depth of 5, and a link to a directory above is not followed. */
static void test_the_depth_is_limited(void **state)
{
    (void)state;
    assert_int_equal(system("mkdir -p 1/2/3/4/5/6 && ln -s .. 1/circle && ln -s 2 1/twice"), 0);
    assert_int_equal(list("."), 0);
    assert_int_equal(count(FIND, BROKEN, " ./1/2/3/4/5\n"), 1);
    assert_int_equal(count(FIND, BROKEN, "6\n"), 0);
    assert_int_equal(count(FIND, BROKEN, "Not listed, since it is also a directory above: ./1/circle\n"), 1);
    assert_int_equal(count(FIND, BROKEN, "circle/"), 0);
    assert_int_equal(count(FIND, BROKEN, " ./1/twice/3/4\n"), 1);
}

static void test_each_entry_is_one_line(void **state)
{
    (void)state;
    put("a\nb\\c\x7f", 0644);
    assert_int_equal(symlink("x\ty", "link"), 0);
    assert_int_equal(list("."), 0);
    assert_int_equal(count("", FIND, " a\\012b\\134c\\177\n"), 1);
    assert_int_equal(count("", FIND, " link -> x\\011y\n"), 1);
}

/* A user may name a resource with any number of files. The number of lines is limited. */
static void test_the_length_is_limited(void **state)
{
    (void)state;
    assert_int_equal(mkdir("many", 0755), 0);
    assert_int_equal(system("seq -f many/%g 12000 | xargs touch"), 0);
    put("z", 0644);
    assert_int_equal(list("."), 0);
    assert_int_equal(count("", FIND, "\n"), 3);
    assert_int_equal(count(FIND, BROKEN, "The list ends here, after 10000 lines.\n"), 1);
    assert_true(count(FIND, BROKEN, "\n") <= 10003);
    assert_true(count(FIND, BROKEN, " ./many/") > 9990);
}

static void test_unreadable_directories_are_named(void **state)
{
    (void)state;
    assert_int_not_equal(list("none"), 0);
    assert_string_equal(text, "none: No such file or directory\n");
    assert_int_equal(mkdir("shut", 0), 0);
    assert_int_equal(list("."), 0);
    if (geteuid() != 0)
        assert_int_equal(count(FIND, BROKEN, "./shut: Permission denied\n"), 1);
    assert_int_equal(chmod("shut", 0700), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_list_has_three_parts), TEST(test_the_depth_is_limited),
        TEST(test_each_entry_is_one_line),   TEST(test_the_length_is_limited),
        TEST(test_unreadable_directories_are_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
