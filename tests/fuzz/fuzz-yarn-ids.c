/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes ids of YARN. If an accepted id is printed, the text must equal the input. */

#include "text.h"

#include "yarn/ids.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *text = fuzz_text(data, size);
    struct nm_yarn_application_id application;
    char again[NM_YARN_ID_SIZE];

    if (nm_yarn_application_id_parse(text, &application) == 0 &&
        !nm_streq(nm_yarn_application_id_format(&application, again), text))
        abort();
    return 0;
}
