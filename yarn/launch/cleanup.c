/* SPDX-License-Identifier: Apache-2.0 */

/* When something has ended (launcher.h); cleanup-queue.h does it. */

#include "yarn/launch/launcher-state.h"

void nm_yarn_launcher_end_container(struct nm_yarn_launcher *l, const char *submitter, const char *application,
                                    const char *container)
{
    (void)nm_yarn_cleanup_queue_add(l->ended, submitter, application, container);
}

/* Resources of the application's own first: the localizer knows them, and must not take them for kept. */
void nm_yarn_launcher_end_application(struct nm_yarn_launcher *l, const char *submitter, const char *application)
{
    nm_yarn_caches_end_application(&l->caches, submitter, application);
    (void)nm_yarn_cleanup_queue_add(l->ended, submitter, application, NULL);
}
