/* SPDX-License-Identifier: Apache-2.0 */

/* See stage.h. */

#include "yarn/proxy/stage.h"

#include <errno.h>

#include "util/error.h"
#include "yarn/conf/conf.h"

#define PROPERTY "yarn.nodemanager.amrmproxy.interceptor-class.pipeline"

/* The stages that the property can name. A new stage needs its own file and a line in this table. nmd's settings alone
 * add the stage for lending, for which Java has no class. */
static const struct nm_stage_type *const table[] = {
    &nm_stage_distribute,
    &nm_stage_forward,
};

static const struct nm_stage_type *find(const char *class_name)
{
    for (size_t i = 0; i < NM_ARRAY_SIZE(table); i++)
        if (nm_streq(table[i]->class_name, class_name))
            return table[i];
    return NULL;
}

static int refuse_unknown(const char *class_name, char **ret_message)
{
    char shown[160], known[400] = "";

    for (size_t i = 0; i < NM_ARRAY_SIZE(table); i++)
        (void)snprintf(known + strlen(known), sizeof known - strlen(known), "%s%s", i > 0 ? ", " : "",
                       table[i]->class_name);
    return nm_fail(ret_message, -EOPNOTSUPP,
                   PROPERTY " = '%s': nmd has no such stage, and can't run stages written in Java (allowed: %s)",
                   nm_yarn_conf_printable(class_name, shown, sizeof shown), known);
}

/* Returns whether the list already contains the stage. Distributed scheduling is added only once, even if both
 * properties request it. */
static bool is_in_list(const struct nm_stage_type *const *list, size_t n, const struct nm_stage_type *type)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == type)
            return true;
    return false;
}

int nm_stages_choose(const struct nm_yarn_settings *s, const struct nm_stage_type **ret, size_t *ret_n,
                     char **ret_message)
{
    size_t n = 0;

    if (s->lending.enabled)
        ret[n++] = &nm_stage_lend;
    if (s->distributed)
        ret[n++] = &nm_stage_distribute;
    for (size_t i = 0; s->proxy_stages && s->proxy_stages[i]; i++) {
        const struct nm_stage_type *type = find(s->proxy_stages[i]);

        if (!type)
            return refuse_unknown(s->proxy_stages[i], ret_message);
        if (n == NM_STAGES_MAX)
            return nm_fail(ret_message, -EOPNOTSUPP, PROPERTY ": more than %u stages", NM_STAGES_MAX);
        if (!is_in_list(ret, n, type))
            ret[n++] = type;
    }
    if (n == 0 || ret[n - 1] != &nm_stage_forward)
        return nm_fail(ret_message, -EOPNOTSUPP, PROPERTY ": the last stage must be %s, which forwards calls to the "
                                                          "ResourceManager",
                       nm_stage_forward.class_name);
    *ret_n = n;
    return 0;
}
