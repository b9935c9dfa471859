/* SPDX-License-Identifier: Apache-2.0 */

/* Fuzzes the list of work that nm-localizer gets, and the URIs in the list. All of this text may be untrusted. */

#include "localize/worker/uri.h"
#include "localize/worker/work.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool fine)
{
    if (!fine)
        abort();
}

static void check_uri(const char *text)
{
    _cleanup_(nm_uri_done) struct nm_uri uri = {0};

    if (nm_uri_parse(text, &uri, NULL) < 0) {
        check(!uri.word && !uri.name);
        return;
    }
    /* the name must be a file name without a directory */
    check(*uri.name && !strchr(uri.name, '/') && !nm_streq(uri.name, ".") && !nm_streq(uri.name, ".."));
    check(uri.scheme == NM_URI_OTHER || *uri.path == '/');
    /* an HDFS URI without a host is in the default file system */
    check(uri.host || uri.scheme == NM_URI_FILE || uri.scheme == NM_URI_OTHER || uri.scheme == NM_URI_HDFS ||
          uri.scheme == NM_URI_WEBHDFS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _cleanup_(nm_work_done) struct nm_work work = {0};
    _cleanup_free_ char *message = NULL;

    if (nm_work_parse((const char *)data, size, &work, &message) < 0) {
        check(!work.json && !work.resources);
        return 0;
    }
    check(!message);
    for (size_t i = 0; i < work.n_resources; i++) {
        check(work.resources[i].target[0] == '/');
        check_uri(work.resources[i].uri);
    }
    return 0;
}
