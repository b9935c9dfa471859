/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes what log aggregation reads: the context in a container token, which comes from the user who submits an
 * application, and the saved state of an application's books. A context can be saved. Books that were read are
 * consistent, and the same after they were saved and read again. */

#include <stdlib.h>
#include <string.h>

#include "util/error.h"
#include "yarn/logs/log-state.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define APPLICATION "application_1700000000000_0001"

static void check_context(struct nm_bytes bytes)
{
    struct nm_yarn_log_context c = {0}, copy = {0};
    json_t *o;

    if (nm_yarn_log_context_parse(bytes, &c) < 0)
        return;
    o = nm_yarn_log_context_to_json(&c);
    if (!o || nm_yarn_log_context_from_json(o, &copy) < 0 ||
        !nm_streq(c.rolled_include ?: "", copy.rolled_include ?: "") || !c.exclude != !copy.exclude)
        abort();
    json_decref(o);
    nm_yarn_log_context_done(&c);
    nm_yarn_log_context_done(&copy);
}

static void check_book(const struct nm_yarn_log_book *b)
{
    if (b->upload.n > b->n_ended || b->upload.is_attempted || !b->user || (b->upload.is_final && !b->is_finished) ||
        (b->state != NM_YARN_LOG_OPEN && b->upload.msec > 0) || b->n_running > 0)
        abort();
}

static void check_state(struct nm_bytes bytes)
{
    struct nm_yarn_log_book *b, *copy;
    char *text;

    if (nm_yarn_log_state_parse(APPLICATION, bytes, &b) < 0)
        return;
    check_book(b);
    text = nm_yarn_log_state_text(b);
    if (!text || nm_yarn_log_state_parse(APPLICATION, nm_bytes_of(text), &copy) < 0)
        abort();
    check_book(copy);
    if (copy->n_ended != b->n_ended || copy->upload.msec != b->upload.msec || copy->state != b->state ||
        copy->is_finished != b->is_finished || copy->is_incomplete != b->is_incomplete || copy->n_dirs != b->n_dirs)
        abort();
    free(text);
    nm_yarn_log_book_free(b);
    nm_yarn_log_book_free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_context((struct nm_bytes){data, size});
    check_state((struct nm_bytes){data, size});
    return 0;
}
