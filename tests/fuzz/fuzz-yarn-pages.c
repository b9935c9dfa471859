/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Fuzzes the untrusted pages of a ResourceManager and of its nodes. The first byte chooses the page. Apart from
 * crashes, the target detects outputs that a failed parser has changed, and texts that could be harmful in a terminal
 * or a file.
 */

#include "nmscale/memory.h"
#include "nmscale/parse.h"
#include "util/macros.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool fine)
{
    if (!fine)
        abort();
}

static void check_word(const char *s)
{
    check(strlen(s) <= NM_SCALE_WORD_MAX);
    for (; *s; s++)
        check(*s > ' ' && *s <= '~' && *s != '#');
}

static void check_words(char **words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        check_word(words[i]);
    nm_scale_words_free(words, n);
}

static void nodes(const char *text, size_t size)
{
    _cleanup_(nm_scale_model_done) struct nm_scale_model m = {0};
    _cleanup_free_ char *message = NULL;
    int r = nm_scale_parse_nodes(text, size, &m.nodes, &m.n_nodes, &message);

    check(r == 0 || (r < 0 && !m.nodes && m.n_nodes == 0));
    for (size_t i = 0; i < m.n_nodes; i++) {
        check_word(m.nodes[i].id);
        check_word(m.nodes[i].host);
        check_word(m.nodes[i].http);
        check_word(m.nodes[i].label);
        check_word(m.nodes[i].state);
        check(*m.nodes[i].id && *m.nodes[i].host);
    }
}

static void apps(const char *text, size_t size)
{
    _cleanup_(nm_scale_model_done) struct nm_scale_model m = {0};
    int r = nm_scale_parse_apps(text, size, &m.apps, &m.n_apps, NULL);

    check(r == 0 || (r < 0 && !m.apps && m.n_apps == 0));
    for (size_t i = 0; i < m.n_apps; i++)
        check_word(m.apps[i].id);
}

static void small_pages(const char *text, size_t size)
{
    struct nm_scale_attempts a;
    struct nm_scale_demand d = {0};
    char **words;
    size_t n;

    if (nm_scale_parse_attempts(text, size, &a, NULL) == 0) {
        for (size_t i = 0; i < a.n_ids; i++)
            check_word(a.ids[i]);
        nm_scale_attempts_done(&a);
    }
    if (nm_scale_parse_containers(text, size, &words, &n, NULL) == 0)
        check_words(words, n);
    if (nm_scale_parse_node_apps(text, size, &words, &n, NULL) == 0)
        check_words(words, n);
    if (nm_scale_parse_demand(text, size, &d, NULL) < 0)
        check(d.containers == 0 && d.mb == 0);
}

static void queues(const char *text, size_t size)
{
    _cleanup_(nm_scale_model_done) struct nm_scale_model m = {0};
    int r = nm_scale_parse_waiting(text, size, &m.waiting, &m.n_waiting, NULL);

    check(r == 0 || (r < 0 && !m.waiting && m.n_waiting == 0));
    for (size_t i = 0; i < m.n_waiting; i++) {
        check_word(m.waiting[i].label);
        check(*m.waiting[i].label && m.waiting[i].mb + m.waiting[i].vcores > 0);
    }
}

/* Checks that an amount of memory that was read is the same after it is written and read again. */
static void memory(const char *text, size_t size)
{
    _cleanup_(nm_scale_memory_done) struct nm_scale_memory m = {0}, again = {0};
    _cleanup_free_ char *first = NULL, *second = NULL;

    if (nm_scale_memory_parse(text, size, "rm", &m, NULL) < 0)
        return;
    first = nm_scale_memory_format(&m, "rm");
    check(first && nm_scale_memory_parse(first, strlen(first), "rm", &again, NULL) == 0);
    second = nm_scale_memory_format(&again, "rm");
    check(second && nm_streq(first, second));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data + 1;

    if (size < 1)
        return 0;
    switch ((uint8_t)(data[0] - '0') % 5) {
    case 0:
        nodes(text, size - 1);
        break;
    case 1:
        apps(text, size - 1);
        break;
    case 2:
        small_pages(text, size - 1);
        break;
    case 4:
        queues(text, size - 1);
        break;
    default:
        memory(text, size - 1);
    }
    return 0;
}
