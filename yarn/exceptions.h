/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The names of YARN's exception classes for a node's refusals. The receiver creates an object of the named class. */

#include "rpc/hadoop/exception.h"

#define NM_EXCEPTION_YARN "org.apache.hadoop.yarn.exceptions.YarnException"
#define NM_EXCEPTION_INVALID_CONTAINER "org.apache.hadoop.yarn.exceptions.InvalidContainerException"
#define NM_EXCEPTION_INVALID_AUX_SERVICE "org.apache.hadoop.yarn.exceptions.InvalidAuxServiceException"
#define NM_EXCEPTION_NOT_YET_READY "org.apache.hadoop.yarn.exceptions.NMNotYetReadyException"
