/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Becomes the user, for good, and keeps of root's powers the one to read all files (CAP_DAC_READ_SEARCH): outputs are
 * for their users' eyes only. Only the thread that calls has it so, and what it makes; call it first. -EINVAL: no such
 * user. */
int nm_shuffle_drop_powers(const char *user, char **ret_message);
