/* SPDX-License-Identifier: Apache-2.0 */

/* See charset.h. */

#include "localize/worker/charset.h"

#include <langinfo.h>

#include "util/macros.h"

/* glibc has the locale C.UTF-8 since version 2.35; distributions added that locale earlier. */
static const char *const utf8_names[] = {"C.UTF-8", "C.utf8", "en_US.UTF-8"};

locale_t nm_charset_begin(bool is_bytes)
{
    locale_t wanted = is_bytes ? newlocale(LC_CTYPE_MASK, "C", (locale_t)0) : (locale_t)0;

    for (size_t i = 0; !is_bytes && !wanted && i < NM_ARRAY_SIZE(utf8_names); i++)
        wanted = newlocale(LC_CTYPE_MASK, utf8_names[i], (locale_t)0);
    return uselocale(wanted);
}

void nm_charset_end(locale_t *before)
{
    locale_t ours = uselocale(*before);

    if (ours && ours != LC_GLOBAL_LOCALE && ours != *before)
        freelocale(ours);
}

bool nm_charset_is_utf8(void)
{
    return nm_streq(nl_langinfo(CODESET), "UTF-8");
}
