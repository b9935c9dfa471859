/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Classes of YARN's exceptions: what a node says no with. The other side makes an object of the class that is named. */

#include "rpc/hadoop/exception.h"

#define NM_EXCEPTION_YARN "org.apache.hadoop.yarn.exceptions.YarnException"
#define NM_EXCEPTION_INVALID_CONTAINER "org.apache.hadoop.yarn.exceptions.InvalidContainerException"
#define NM_EXCEPTION_INVALID_AUX_SERVICE "org.apache.hadoop.yarn.exceptions.InvalidAuxServiceException"
#define NM_EXCEPTION_NOT_YET_READY "org.apache.hadoop.yarn.exceptions.NMNotYetReadyException"
