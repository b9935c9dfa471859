/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sentences for the events of a shuffle service: when clients begin to read slowly, when this has ended, and what an
 * application was sent. They are few: nm-spark-shuffle is asked for its figures at most every 5 s, and a state that
 * changes more often than every NM_YARN_READER_REPORT_USEC is reported once. The code is pure.
 */

#include "yarn/launch/shuffle-process.h"

#define NM_YARN_READER_REPORT_USEC (60 * NM_USEC_PER_SEC)
#define NM_YARN_READER_REPORT_SIZE 400u

/* What was reported. A struct initialized with {} has reported no slow client. */
struct nm_yarn_reader_report {
    bool is_slow;       /* the last sentence said that clients don't read */
    uint64_t told_usec; /* when that was; 0: never */
    uint64_t told_slow; /* disconnected clients that were reported */
};

enum nm_yarn_reader_event {
    NM_YARN_READER_NO_EVENT,
    NM_YARN_READER_SLOW,
    NM_YARN_READER_DISCONNECTED,
    NM_YARN_READER_OK,
};

/* Returns what has happened since the last call, with a sentence unless it is NM_YARN_READER_NO_EVENT. */
enum nm_yarn_reader_event nm_yarn_reader_report(struct nm_yarn_reader_report *r, const char *program,
                                                const struct nm_yarn_shuffle_figures *figures,
                                                const struct nm_yarn_shuffle_usage *top, size_t n, uint64_t now_usec,
                                                char ret[static NM_YARN_READER_REPORT_SIZE]);
/* Writes a sentence that says how much the server has sent to the clients of an application that has ended. Returns
 * false if there was neither a block nor a slow reader to report. */
bool nm_yarn_reader_total(const char *program, const struct nm_yarn_shuffle_usage *last,
                          char ret[static NM_YARN_READER_REPORT_SIZE]);
