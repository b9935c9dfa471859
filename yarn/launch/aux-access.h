/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Access of auxiliary services in Java to the files of applications. As with Hadoop's LinuxContainerExecutor, the group
 * of an application's directory is that of the services' account, and is passed on to new directories and files. So a
 * service can read what an application's tasks make readable for the group, and nothing else of their user:
 *
 *   usercache/USER, and appcache in it    others may pass through, but not read them
 *   appcache/APPLICATION                  mode 2710 with the services' group
 */

#include "yarn/launch/container-dirs.h"

/* Gives the group access to the application's directory in a local directory, after nm_yarn_dirs_make_local(). Only
 * root can do this. Succeeds if the group has access already. */
int nm_yarn_aux_access_grant(int local_fd, const struct nm_yarn_dirs_owner *o, gid_t gid);
