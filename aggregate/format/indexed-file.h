/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "aggregate/format/log-state.h"

extern const struct nm_log_format_ops nm_indexed_file_ops;
