/* SPDX-License-Identifier: Apache-2.0 */

/* See app-store.h. */

#include "yarn/node/app-store.h"

#include "util/macros.h"
#include "util/parse.h"

/* Size limit of a file. A token's identifier and the text of an end take a few KiB. */
#define FILE_MAX (256u << 10)

int nm_yarn_app_store_open(const char *state_dir, struct nm_yarn_app_store *ret)
{
    int r;

    *ret = (struct nm_yarn_app_store){-1, -1};
    r = nm_yarn_state_dir_open(state_dir, "applications", &ret->applications_fd);
    return r < 0 ? r : nm_yarn_state_dir_open(state_dir, "early-ends", &ret->ends_fd);
}

void nm_yarn_app_store_done(struct nm_yarn_app_store *store)
{
    store->applications_fd = nm_close(store->applications_fd);
    store->ends_fd = nm_close(store->ends_fd);
}

/* ---- single entries --------------------------------------------------------------------- */

void nm_yarn_app_store_put_application(const struct nm_yarn_app_store *store, const char *name, const char *submitter)
{
    if (nm_user_name_is_valid(submitter))
        (void)nm_yarn_state_dir_put(store->applications_fd, name, nm_bytes_of(submitter));
}

void nm_yarn_app_store_drop_application(const struct nm_yarn_app_store *store, const char *name)
{
    nm_yarn_state_dir_drop(store->applications_fd, name);
}

void nm_yarn_app_store_put_end(const struct nm_yarn_app_store *store, const char *name, const Yarn__EarlyEnd *end)
{
    size_t size = yarn__early_end__get_packed_size(end);
    _cleanup_free_ uint8_t *data = size < FILE_MAX ? malloc(size + 1) : NULL;

    if (!data)
        return;
    (void)yarn__early_end__pack(end, data);
    (void)nm_yarn_state_dir_put(store->ends_fd, name, (struct nm_bytes){data, size});
}

void nm_yarn_app_store_drop_end(const struct nm_yarn_app_store *store, const char *name)
{
    nm_yarn_state_dir_drop(store->ends_fd, name);
}

/* ---- lists -------------------------------------------------------------------------------- */

int nm_yarn_app_store_applications(const struct nm_yarn_app_store *store, nm_yarn_state_file_cb_t cb, void *userdata)
{
    return nm_yarn_state_dir_read(store->applications_fd, FILE_MAX, cb, userdata);
}

int nm_yarn_app_store_ends(const struct nm_yarn_app_store *store, nm_yarn_state_file_cb_t cb, void *userdata)
{
    return nm_yarn_state_dir_read(store->ends_fd, FILE_MAX, cb, userdata);
}
