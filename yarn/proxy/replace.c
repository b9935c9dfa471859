/* SPDX-License-Identifier: Apache-2.0 */

/* See replace.h. */

#include "yarn/proxy/replace.h"

#include <errno.h>

#include "util/error.h"

static bool is_amrm(const struct nm_token *t)
{
    return nm_bytes_equal(t->kind, nm_bytes_of(NM_TOKEN_KIND_AMRM));
}

/* Puts our token in place of the first AMRM token, and removes all others, since a client that looks for this kind
 * couldn't distinguish them. NULL: the credentials have no AMRM token. */
static const struct nm_credential *put_first(struct nm_credentials *c, const struct nm_token *ours,
                                             struct nm_token *theirs)
{
    const struct nm_credential *found = NULL;
    size_t n = 0;

    for (size_t i = 0; i < c->n_tokens; i++) {
        struct nm_credential *t = &c->tokens[i];

        if (is_amrm(&t->token) && found)
            continue;
        c->tokens[n] = *t;
        if (is_amrm(&t->token)) {
            *theirs = t->token;
            c->tokens[n].token = *ours;
            found = &c->tokens[n];
        }
        n++;
    }
    c->n_tokens = n;
    return found;
}

int nm_yarn_replace_token(struct nm_arena *a, struct nm_bytes credentials, const struct nm_token *ours,
                          struct nm_bytes *ret, struct nm_token **ret_theirs)
{
    _cleanup_(nm_token_freep) struct nm_token *kept = NULL;
    _cleanup_(nm_writer_done) struct nm_writer w = {};
    struct nm_credentials c;
    struct nm_token theirs;
    struct nm_bytes written;
    char *copy;
    int r = nm_credentials_parse(a, credentials, &c);

    if (r < 0)
        return r;
    if (!put_first(&c, ours, &theirs))
        return -ENOKEY;
    r = nm_token_copy(&theirs, &kept);
    if (r < 0)
        return r;
    nm_credentials_write(&c, &w);
    r = nm_writer_result(&w, &written);
    if (r < 0)
        return r;
    copy = nm_arena_text(a, written);
    if (!copy)
        return -ENOMEM;
    *ret = (struct nm_bytes){(const uint8_t *)copy, written.size};
    *ret_theirs = STEAL_PTR(kept);
    return 0;
}
