/* SPDX-License-Identifier: Apache-2.0 */

/* See exclude.h. Hosts are compared exactly, as the ResourceManager does. */

#include "nmscale/exclude.h"

#include "nmscale/model.h"
#include "nmscale/system.h"
#include "util/error.h"

/* The characters at which the ResourceManager splits a line. */
#define BLANKS " \t\n\f\r"

/* Returns the length of the line at `at` with its newline, 0 at the end. */
static size_t line_length(const char *at)
{
    const char *end = strchr(at, '\n');

    return end ? (size_t)(end - at) + 1 : strlen(at);
}

/* Finds the first word of a line; "" if the line has no word before its comment. */
static size_t first_word(const char *line, size_t size, const char **ret)
{
    size_t n = 0, skip = 0;

    while (skip < size && strchr(BLANKS, line[skip]))
        skip++;
    while (skip + n < size && !strchr(BLANKS, line[skip + n]))
        n++;
    *ret = line + skip;
    return n > 0 && line[skip] != '#' ? n : 0;
}

/* Compares whole words: node1 must not match node11. */
static bool is_word(const char *word, size_t n, const char *host)
{
    return strlen(host) == n && memcmp(word, host, n) == 0;
}

/* Finds the host of a line that consists of one host and nmscale's mark. A line with further words belongs to the
 * administrator or program that added these words. */
static size_t marked_host(const char *line, size_t size, const char **ret)
{
    size_t n = first_word(line, size, ret), mark = sizeof NM_SCALE_EXCLUDE_MARK - 1;
    const char *rest = *ret + n, *end = line + size;

    while (n > 0 && rest < end && strchr(" \t", *rest))
        rest++;
    if (n == 0 || (size_t)(end - rest) < mark || memcmp(rest, NM_SCALE_EXCLUDE_MARK, mark) != 0)
        return 0;
    for (rest += mark; rest < end; rest++)
        if (!strchr(BLANKS, *rest))
            return 0;
    return n;
}

/* Searches all words of each line, because an administrator or a script may write several hosts on a line. */
bool nm_scale_exclude_has(const char *text, const char *host)
{
    for (size_t size; (size = line_length(text)) > 0; text += size) {
        const char *word = text, *end = text + size;

        for (;;) {
            size_t n = first_word(word, (size_t)(end - word), &word);

            if (n == 0)
                break;
            if (is_word(word, n, host))
                return true;
            word += n;
        }
    }
    return false;
}

/* Adds only the missing hosts. If a host were on two lines, it would still be excluded after nmscale removed its own
 * line. */
char *nm_scale_exclude_add(const char *text, char *const *hosts, size_t n)
{
    char *buf = NULL;
    size_t size, length = strlen(text);
    FILE *f = open_memstream(&buf, &size);

    if (!f)
        return NULL;
    fputs(text, f);
    if (length > 0 && text[length - 1] != '\n')
        fputc('\n', f);
    for (size_t i = 0; i < n; i++)
        if (!nm_scale_exclude_has(text, hosts[i]))
            fprintf(f, "%s %s\n", hosts[i], NM_SCALE_EXCLUDE_MARK);
    if (fclose(f) != 0) {
        free(buf);
        return NULL;
    }
    return buf;
}

static bool is_one_of(const char *word, size_t n, char *const *hosts, size_t n_hosts)
{
    for (size_t i = 0; n > 0 && i < n_hosts; i++)
        if (is_word(word, n, hosts[i]))
            return true;
    return false;
}

/* Copies the remaining lines byte for byte, because administrators have their own comments and order in the file. */
char *nm_scale_exclude_remove(const char *text, char *const *hosts, size_t n)
{
    char *result = malloc(strlen(text) + 1), *to = result;

    if (!result)
        return NULL;
    for (size_t size; (size = line_length(text)) > 0; text += size) {
        const char *word;
        size_t length = marked_host(text, size, &word);

        if (is_one_of(word, length, hosts, n))
            continue;
        memcpy(to, text, size);
        to += size;
    }
    *to = '\0';
    return result;
}

int nm_scale_exclude_marked(const char *text, char ***ret, size_t *ret_n)
{
    char **list = NULL;
    size_t n = 0;

    for (size_t size; (size = line_length(text)) > 0; text += size) {
        const char *word;
        size_t length = marked_host(text, size, &word);
        char **grown;

        if (length == 0)
            continue;
        grown = reallocarray(list, n + 1, sizeof *list);
        if (grown)
            list = grown;
        if (!grown || !(list[n] = strndup(word, length))) {
            nm_scale_words_free(list, n);
            return -ENOMEM;
        }
        n++;
    }
    *ret = list;
    *ret_n = n;
    return 0;
}

/* Returns whether the ResourceManager reads the file as XML, which depends on the file name's ending. In a file with
 * another ending, the ResourceManager would read XML elements as hosts called "<host>". */
static bool is_xml(const char *path, const char *text)
{
    size_t n = strlen(path);

    return (n > 4 && strcasecmp(path + n - 4, ".xml") == 0) || text[strspn(text, BLANKS)] == '<';
}

int nm_scale_exclude_read(const char *path, char **ret, char **ret_message)
{
    _cleanup_free_ char *text = NULL;
    size_t size = 0;
    int r = nm_scale_read_file(path, NM_SCALE_EXCLUDE_MOST, &text, &size);

    /* If the file doesn't exist, it is created when the first host is added. */
    if (r == -ENOENT && (text = strdup("")))
        r = 0;
    if (r < 0)
        return nm_fail(ret_message, r, "%s can't be read: %s", path, strerror(-r));
    if (strlen(text) != size)
        return nm_fail(ret_message, -EPROTO, "%s has a zero byte and is not a list of hosts", path);
    if (is_xml(path, text))
        return nm_fail(ret_message, -EPROTO,
                       "%s is XML; nmscale writes only plain text with one host per line: name a file without .xml in "
                       "yarn.resourcemanager.nodes.exclude-path",
                       path);
    *ret = STEAL_PTR(text);
    return 0;
}
