/* SPDX-License-Identifier: Apache-2.0 */

/* Ids: what is taken for one is written just as it came. */

#include "text.h"

#include "rpc/yarn/ids.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = fuzz_text(data, size);
    struct nm_yarn_application_id application;
    struct nm_yarn_container_id container;
    struct nm_yarn_attempt_id attempt;
    char again[NM_YARN_ID_SIZE];

    if (nm_yarn_application_id_parse(text, &application) == 0 &&
        !nm_streq(nm_yarn_application_id_format(&application, again), text))
        abort();
    if (nm_yarn_attempt_id_parse(text, &attempt) == 0 && !nm_streq(nm_yarn_attempt_id_format(&attempt, again), text))
        abort();
    if (nm_yarn_container_id_parse(text, &container) == 0 &&
        !nm_streq(nm_yarn_container_id_format(&container, again), text))
        abort();
    return 0;
}
