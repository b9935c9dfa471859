/* SPDX-License-Identifier: Apache-2.0 */

/* See nearest.h. */

#include "util/nearest.h"

#include <string.h>

#include "util/macros.h"

/* Returns the number of edits (insert, delete, replace, swap two neighbours) between two words, or 99 if one of them is
 * longer than 31 bytes. */
static unsigned distance(const char *a, const char *b)
{
    unsigned d[32][32];
    size_t la = strlen(a), lb = strlen(b);

    if (la >= 32 || lb >= 32)
        return 99;
    for (unsigned i = 0; i <= la; i++)
        for (unsigned j = 0; j <= lb; j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            d[i][j] = NM_MIN(d[i - 1][j], d[i][j - 1]) + 1;
            d[i][j] = NM_MIN(d[i][j], d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = NM_MIN(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[la][lb];
}

/* A third of the letters, and at least one, may be wrong: "lits" matches "list", and "x" matches no longer word. */
const char *nm_nearest_word(const char *given, const char *const *words, size_t n)
{
    const char *best = NULL;
    unsigned best_distance = NM_MAX(((unsigned)strlen(given) + 1) / 3, 1u);

    for (size_t i = 0; i < n; i++) {
        unsigned d = distance(given, words[i]);
        /* A word that starts with the given text is near, independent of its length. */
        if (strlen(given) >= 2 && strncmp(words[i], given, strlen(given)) == 0)
            d = 1;
        if (d <= best_distance && (!best || d < best_distance)) {
            best = words[i];
            best_distance = d;
        }
    }
    return best;
}
