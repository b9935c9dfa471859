/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Include it after cmocka.h. */

#include <systemd/sd-event.h>

#include "util/clock.h"

/* Runs the loop w->event until the condition is true. Fails the test after patience_usec. */
#define RUN_UNTIL_WITHIN(w, patience_usec, condition) \
    do { \
        const uint64_t _end_usec = nm_now_usec() + (patience_usec); \
        while (!(condition)) { \
            assert_true(nm_now_usec() < _end_usec); \
            assert_true(sd_event_run((w)->event, 20 * NM_USEC_PER_MSEC) >= 0); \
        } \
    } while (0)
