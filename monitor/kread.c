/* SPDX-License-Identifier: Apache-2.0 */

/* See kread.h. A seq_file keeps its generated text between consecutive reads. So the pieces of one pass are consistent
 * as long as no other reader uses the same descriptor. */

#include "monitor/kread.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#define PIECE 4096

struct lines {
    const char *const *words;
    size_t n_words;
    char *buf;
    size_t size, len;
    /* The beginning of the current line, and whether the line is wanted, once this is decided. */
    char head[NM_MONITOR_WORD_MAX + 1];
    size_t head_len;
    bool decided, wanted;
};

static bool is_wanted(const struct lines *l)
{
    for (size_t i = 0; i < l->n_words; i++)
        if (strncmp(l->head, l->words[i], strlen(l->words[i])) == 0)
            return true;
    return false;
}

static int keep(struct lines *l, const char *text, size_t n)
{
    if (n >= l->size - l->len)
        return -E2BIG;
    memcpy(l->buf + l->len, text, n);
    l->len += n;
    l->buf[l->len] = '\0';
    return 0;
}

/* Adds a part of a line. `ends`: the part includes the newline. */
static int take(struct lines *l, const char *text, size_t n, bool ends)
{
    size_t head = NM_MONITOR_WORD_MAX - l->head_len;
    int r = 0;

    if (!l->decided) {
        head = head < n ? head : n;
        memcpy(l->head + l->head_len, text, head);
        l->head_len += head;
        l->head[l->head_len] = '\0';
        text += head;
        n -= head;
        l->decided = ends || l->head_len == NM_MONITOR_WORD_MAX;
        l->wanted = l->decided && is_wanted(l);
        r = l->wanted ? keep(l, l->head, l->head_len) : 0;
    }
    if (r == 0 && l->wanted)
        r = keep(l, text, n);
    if (ends)
        l->decided = l->wanted = false;
    if (ends)
        l->head_len = 0;
    return r;
}

static int take_piece(struct lines *l, const char *text, size_t n)
{
    while (n > 0) {
        const char *end = memchr(text, '\n', n);
        size_t len = end ? (size_t)(end - text) + 1 : n;
        int r = take(l, text, len, end != NULL);

        if (r < 0)
            return r;
        text += len;
        n -= len;
    }
    return 0;
}

int nm_monitor_read_lines(int fd, const char *const *words, size_t n_words, char *buf, size_t size)
{
    struct lines l = {.words = words, .n_words = n_words, .buf = buf, .size = size};
    char piece[PIECE + 1];

    assert(size > 0);
    buf[0] = '\0';
    for (off_t at = 0; at < NM_MONITOR_LINES_MAX; at += PIECE) {
        int n = nm_monitor_read_at(fd, at, piece, sizeof piece), r;

        if (n < 0)
            return n;
        r = take_piece(&l, piece, (size_t)n);
        if (r < 0)
            return r;
        if (n < PIECE)
            return (int)l.len;
    }
    return -E2BIG;
}
