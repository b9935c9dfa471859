/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Requests with placement constraints (SchedulingRequest). They pass through the proxy byte by byte, because
 * opportunistic containers can't be placed by them. Only what the status shows of them is read: key, size and number.
 */

#include "rpc/hadoop/bytes.h"
#include "util/quota.h"
#include "yarn/lend/lend.h"

/* Converts a packed request, or the one in a rejected request of an answer. account: charged while the message is
 * unpacked; may be NULL. Return 0, -EBADMSG or -ENOMEM. */
int nm_placement_ask_parse(struct nm_bytes packed, struct nm_quota_account *account, struct nm_lend_ask *ret);
int nm_placement_ask_parse_rejected(struct nm_bytes packed, struct nm_quota_account *account, struct nm_lend_ask *ret);
