/* SPDX-License-Identifier: Apache-2.0 */

/* The choice between JSON and XML by the header Accept, XML with text from a client, and the user in the header Cookie:
 * rpc/local/answer-xml.h and rpc/local/claimed-user.h. The input is a header, and then, after a newline, the text. */

#include <stdlib.h>
#include <string.h>

#include "rpc/local/answer-xml.h"
#include "rpc/local/claimed-user.h"
#include "tests/fuzz/text.h"
#include "util/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Checks that the text of the element has no character with a meaning in XML, and none that XML can't have. */
static void check_xml(const struct nm_answer_text *a)
{
    static const char begin[] = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?><a>", end[] = "</a>";
    const size_t from = sizeof begin - 1, to = a->len - (sizeof end - 1);

    if (a->len < from + sizeof end - 1 || memcmp(a->text, begin, from) != 0 ||
        memcmp(a->text + to, end, sizeof end - 1) != 0)
        abort();
    for (size_t i = from; i < to; i++) {
        const unsigned char c = (unsigned char)a->text[i];

        if (c == '<' || c == '>' || (c < 0x20 && c != '\n' && c != '\t'))
            abort();
        if (to - i >= 3 && (memcmp(&a->text[i], "\xef\xbf\xbe", 3) == 0 || memcmp(&a->text[i], "\xef\xbf\xbf", 3) == 0))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_free_ char *header = fuzz_text(data, size);
    struct nm_quota *quota = NULL;
    struct nm_quota_account *account;
    struct nm_answer_text a;
    char user[NM_CLAIMED_USER_SIZE], cookie[NM_CLAIMED_USER_COOKIE_SIZE], *text = strchr(header, '\n');

    if (text)
        *text++ = '\0';
    (void)nm_answer_accept_prefers_xml(header);
    if (nm_claimed_user_find(header, text, user) && (!*user || strlen(user) >= sizeof user))
        abort();
    (void)nm_claimed_user_cookie(header, cookie);
    if (!text || text[nm_utf8_prefix(text)] != '\0' || nm_quota_new(1 << 20, &quota) < 0)
        return 0;
    if (nm_quota_account_of(quota, "x", true, &account) < 0)
        abort();
    nm_answer_text_begin(&a, account);
    nm_answer_text_add_xml(&a, json_pack("{s:s}", "a", text));
    if (a.error == 0)
        check_xml(&a);
    nm_answer_text_done(&a);
    nm_quota_account_unref(account);
    nm_quota_free(quota);
    return 0;
}
