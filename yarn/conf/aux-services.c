/* SPDX-License-Identifier: Apache-2.0 */

/* The auxiliary services that run in a process of Java: see settings-parts.h. */

#include <string.h>

#include "util/error.h"
#include "yarn/conf/native-services.h"
#include "yarn/conf/settings-parts.h"
#include "yarn/conf/settings.h"

static bool is_listed(char *const *list, const char *name)
{
    for (size_t i = 0; list && list[i]; i++)
        if (nm_streq(list[i], name))
            return true;
    return false;
}

/* Takes a service away from nmd's own program if the configuration wants it to run in Java. Returns whether nmd's own
 * program still runs it. */
static bool stays_native(struct nm_yarn_settings *s, const char *name)
{
    const bool is_shuffle = s->has_shuffle && nm_streq(name, NM_YARN_SHUFFLE);
    const bool is_spark = s->spark.name && nm_streq(name, s->spark.name);

    if (!is_shuffle && !is_spark)
        return false;
    if (!is_listed(s->aux.java_services, name))
        return true;
    if (is_shuffle) {
        s->has_shuffle = false;
    } else {
        free(s->spark.name);
        s->spark.name = NULL;
    }
    return false;
}

int nm_yarn_aux_services_read(struct nm_yarn_settings *s)
{
    const size_t total = NM_STRV_LENGTH(s->aux_services);
    size_t n = 0;

    s->aux.names = calloc(total + 1, sizeof *s->aux.names);
    if (!s->aux.names)
        return -ENOMEM;
    for (size_t i = 0; i < total; i++) {
        const char *name = s->aux_services[i];

        if (nm_yarn_aux_is_hosted(s, name) || stays_native(s, name))
            continue;
        s->aux.names[n] = strdup(name);
        if (!s->aux.names[n++])
            return -ENOMEM;
    }
    return 0;
}

void nm_yarn_aux_services_done(struct nm_yarn_settings *s)
{
    for (size_t i = 0; s->aux.names && s->aux.names[i]; i++)
        free(s->aux.names[i]);
    free(s->aux.names);
    s->aux.names = NULL;
}

bool nm_yarn_aux_is_hosted(const struct nm_yarn_settings *s, const char *name)
{
    return is_listed(s->aux.names, name);
}
