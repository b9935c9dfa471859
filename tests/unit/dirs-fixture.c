/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/dirs-fixture.h"
#include "tests/unit/remove-tree.h"

int dirs_fixture_set_up(void **state)
{
    struct fixture *w = calloc(1, sizeof *w);
    const struct passwd *pw = geteuid() == 0 ? getpwnam("nobody") : getpwuid(geteuid());

    assert_non_null(w);
    assert_non_null(pw);
    (void)strcpy(w->root, "/tmp/nmd-test-dirs.XXXXXX");
    assert_non_null(mkdtemp(w->root));
    assert_int_equal(chmod(w->root, 0755), 0);
    w->fd = open(w->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    w->owner = (struct nm_yarn_dirs_owner){"alice", "application_1", "container_1", {pw->pw_uid, pw->pw_gid, NULL, 0}};
    *state = w;
    return 0;
}

int dirs_fixture_tear_down(void **state)
{
    struct fixture *w = *state;

    (void)close(w->fd);
    (void)remove_tree(w->root);
    free(w);
    return 0;
}

const char *path_in(struct fixture *w, const char *name)
{
    (void)snprintf(w->path, sizeof w->path, "%s/%s", w->root, name);
    return w->path;
}

bool exists(const struct fixture *w, const char *name)
{
    return faccessat(w->fd, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

uid_t file_uid(void)
{
    return (uid_t)setfsuid((uid_t)-1);
}

int make_one_link(int dir_fd, const struct nm_yarn_dirs_owner *o, const char *name, const char *target)
{
    size_t made;

    return nm_yarn_dirs_links(dir_fd, o, &(struct nm_yarn_link){target, name}, 1, &made);
}
