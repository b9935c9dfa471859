/* SPDX-License-Identifier: Apache-2.0 */

/* Refusals of masters' requests: see node-state.h. If Hadoop has a text for a refusal, nmd uses Hadoop's text. */

#include "yarn/node/node-state.h"

#include <stdarg.h>

#include "util/clock.h"

int nm_yarn_refuse(struct nm_exception *why, const char *format, ...)
{
    char text[sizeof why->message];
    va_list ap;

    va_start(ap, format);
    (void)vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    nm_exception_set(why, NM_EXCEPTION_APPLICATION, NM_EXCEPTION_YARN, "%s", text);
    return NM_YARN_REFUSED;
}

int nm_yarn_refuse_unknown(const struct nm_yarn_node *n, const char *text, struct nm_exception *why)
{
    if (nm_yarn_recent_has(n, text, nm_now_usec()))
        return nm_yarn_refuse(why, "Container %s was recently stopped on node manager.", text);
    return nm_yarn_refuse(why, "Container %s is not handled by this NodeManager", text);
}

const char *nm_yarn_wanted_runtime(const Yarn__LaunchContext *context)
{
    for (size_t k = 0; k < context->n_environment; k++) {
        const Yarn__Text *e = context->environment[k];

        if (e->key && e->value && nm_streq(e->key, NM_YARN_RUNTIME) && *e->value && !nm_streq(e->value, "default"))
            return e->value;
    }
    return NULL;
}

int nm_yarn_refuse_runtime(const Yarn__LaunchContext *context, struct nm_exception *why)
{
    const char *runtime = nm_yarn_wanted_runtime(context);

    if (!runtime)
        return 0;
    return nm_yarn_refuse(why, "The container requests the runtime '%.60s' (" NM_YARN_RUNTIME "), but this node has "
                          "only the default one.", runtime);
}
