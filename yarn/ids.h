/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * YARN's ids in its spelling:
 *
 *   application_1410901177871_0001
 *   appattempt_1410901177871_0001_000001
 *   container_1410901177871_0001_01_000005, and container_e17_1410901177871_0001_01_000005
 *
 * A container's number has the epoch, which counts the ResourceManager's restarts, in its upper 24 bits. A node that
 * allocates by itself counts down from the epoch's first, so that in epoch 0 numbers are negative, and of those the
 * text doesn't say that they are: -1 is printed as 1099511627775. So numbers tell containers apart, texts name files,
 * and no number is ever made of a text.
 */

#include <stddef.h>
#include <stdint.h>

struct nm_yarn_application_id {
    int64_t cluster; /* when the ResourceManager was started that gave the id, in milliseconds */
    int32_t number;
};

struct nm_yarn_attempt_id {
    struct nm_yarn_application_id application;
    int32_t number;
};

struct nm_yarn_container_id {
    struct nm_yarn_attempt_id attempt;
    int64_t number;
};

/* Enough for each, with its NUL. */
#define NM_YARN_ID_SIZE 96

/* The buffer, of NM_YARN_ID_SIZE, is returned. */
const char *nm_yarn_application_id_format(const struct nm_yarn_application_id *id, char *buf);
const char *nm_yarn_attempt_id_format(const struct nm_yarn_attempt_id *id, char *buf);
const char *nm_yarn_container_id_format(const struct nm_yarn_container_id *id, char *buf);

/*
 * The number of the next container that a node allocates by itself: below start, which is where the ResourceManager has
 * it begin, by one more than the last was below its own. last: start itself at first. After a restart of the
 * ResourceManager start is another epoch's, and -1 and that epoch's first would be different containers with the same
 * text, and so with the same directories.
 */
int64_t nm_yarn_container_number_below(int64_t start, int64_t last);

/* Only what format() writes for ids that aren't negative. 0; -EINVAL: no such id; -ERANGE: too large a number. */
int nm_yarn_application_id_parse(const char *text, struct nm_yarn_application_id *ret);
