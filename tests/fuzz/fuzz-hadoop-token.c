/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes tokens, lists of tokens, and their identifiers. A token that was parsed is written and parsed again. */

#include <stdlib.h>

#include "rpc/hadoop/token.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse_identifier(struct nm_bytes bytes)
{
    const Hadoop__ContainerTokenIdentifier *container;
    const Hadoop__AMRMTokenIdentifier *amrm;
    const Hadoop__NMTokenIdentifier *nm;
    struct nm_arena a;

    nm_arena_init(&a, 3 * nm_arena_limit(bytes.size), NULL);
    if (nm_token_parse_container(&a, bytes, &container) == 0 && container->container->attempt->application->id == 0)
        (void)*container->submitter;
    if (nm_token_parse_nm(&a, bytes, &nm) == 0 && !*nm->node->host)
        abort();
    (void)nm_token_parse_amrm(&a, bytes, &amrm);
    nm_arena_done(&a);
}

static void write_again(const struct nm_credentials *c)
{
    struct nm_writer w = {};
    struct nm_credentials again;
    struct nm_bytes written;
    struct nm_arena a;

    nm_credentials_write(c, &w);
    if (nm_writer_result(&w, &written) < 0)
        abort();
    nm_arena_init(&a, 4 * nm_arena_limit(written.size), NULL);
    if (nm_credentials_parse(&a, written, &again) < 0 || again.n_tokens != c->n_tokens ||
        again.n_secrets != c->n_secrets)
        abort();
    nm_arena_done(&a);
    nm_writer_done(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nm_bytes whole = {data, size}, rest = whole;
    struct nm_credentials c;
    struct nm_token t;
    struct nm_arena a;

    parse_identifier(whole);
    while (nm_token_read(&rest, &t) == 0)
        parse_identifier(t.identifier);
    nm_arena_init(&a, nm_arena_limit(size), NULL);
    if (nm_credentials_parse(&a, whole, &c) == 0)
        write_again(&c);
    nm_arena_done(&a);
    return 0;
}
