/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Makes a cluster's settings from the properties of a test. Include it after cmocka.h. */

#include <stdio.h>
#include <string.h>

#include "yarn/conf/settings.h"

#define PROPERTY(name, value) "<property><name>" name "</name><value>" value "</value></property>"

static inline struct nm_yarn_settings *settings_of(const char *properties)
{
    _cleanup_(nm_yarn_conf_freep) struct nm_yarn_conf *c = NULL;
    char text[2000], *message = NULL;
    struct nm_yarn_settings *s = NULL;

    (void)snprintf(text, sizeof text, "<configuration>%s</configuration>", properties);
    assert_int_equal(nm_yarn_settings_new_conf(&c), 0);
    assert_int_equal(nm_yarn_conf_read_text(c, -EBADF, "yarn-site.xml", text, strlen(text), &message), 0);
    if (nm_yarn_settings_read(c, NULL, NULL, &s, &message) != 0)
        fail_msg("%s", message);
    return s;
}
