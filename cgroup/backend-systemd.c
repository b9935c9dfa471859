/* SPDX-License-Identifier: Apache-2.0 */
#include "cgroup/backend.h"

int nm_systemd_available(void)
{
    return 0;
}

int nm_systemd_new(const struct nm_backend_host *host, struct nm_cgroup_backend **ret, char **ret_message)
{
    (void)host;
    (void)ret;
    return nm_backend_fail(ret_message, -EOPNOTSUPP, "the systemd backend isn't built in");
}
