/* SPDX-License-Identifier: Apache-2.0 */

/* Cleanup after the end of containers and applications (launcher.h), done by cleanup-queue.h. */

#include "yarn/launch/launcher-state.h"

void nm_yarn_launcher_end_container(struct nm_yarn_launcher *l, const char *submitter, const char *application,
                                    const char *container)
{
    (void)nm_yarn_cleanup_queue_add(l->cleanup_queue, submitter, application, container);
}

/* Drops the application's own resources first, because the localizer lists these resources and would count them as
 * available. */
void nm_yarn_launcher_end_application(struct nm_yarn_launcher *l, const char *submitter, const char *application)
{
    nm_yarn_caches_end_application(&l->caches, submitter, application);
    (void)nm_yarn_cleanup_queue_add(l->cleanup_queue, submitter, application, NULL);
}
