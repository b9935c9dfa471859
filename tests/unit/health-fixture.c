/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/health-fixture.h"
#include "tests/unit/remove-tree.h"
#include "util/fileio.h"
#include "util/log.h"

int health_fixture_set_up(void **state)
{
    struct health_fixture *f = calloc(1, sizeof *f);

    nm_log_set_level(LOG_ERR);
    if (!f)
        return -1;
    (void)snprintf(f->directory, sizeof f->directory, "/tmp/nmd-test-health-XXXXXX");
    if (!mkdtemp(f->directory) || sd_event_new(&f->event) < 0 ||
        nm_config_new_defaults(&f->config) < 0)
        return -1;
    f->config->disk_min_free = 0; /* the disk of the build machine must not affect the tests */
    f->config->health_period_usec = 20 * NM_USEC_PER_MSEC;
    *state = f;
    return 0;
}

int health_fixture_tear_down(void **state)
{
    struct health_fixture *f = *state;

    sd_event_unref(f->event);
    nm_config_free(f->config);
    (void)remove_tree(f->directory);
    free(f);
    return 0;
}

void write_script(const char *path, const char *text)
{
    _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

const char *make_script(struct health_fixture *f, const char *name, const char *lines, char *path,
                          size_t size)
{
    char text[512];

    (void)snprintf(path, size, "%s/%s", f->directory, name);
    (void)snprintf(text, sizeof text, "#!/bin/sh\n%s\n", lines);
    write_script(path, text);
    return path;
}

void on_verdict(const struct nm_script_verdict *v, void *userdata)
{
    struct health_fixture *f = userdata;

    f->n_verdicts++;
    f->verdict = *v;
}
