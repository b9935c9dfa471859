/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * YARN's ids in their text form:
 *
 *   application_1410901177871_0001
 *   appattempt_1410901177871_0001_000001
 *   container_1410901177871_0001_01_000005, and container_e17_1410901177871_0001_01_000005
 *
 * The upper 24 bits of a container's number hold the epoch, which counts the ResourceManager's restarts. A Java node
 * that allocates containers itself, and a ResourceManager that does, count down from the first number of the epoch, so
 * in epoch 0 their numbers are negative. The text of an id doesn't contain the sign: -1 is printed as 1099511627775. So
 * two numbers can have the same text. Therefore the code identifies containers by number, uses texts only as names of
 * files, and never parses a text into a number.
 */

#include <stddef.h>
#include <stdint.h>

struct nm_yarn_application_id {
    int64_t cluster; /* start time of the ResourceManager that issued the id, in milliseconds */
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

/* Size of a buffer for the text of any id, including the NUL. */
#define NM_YARN_ID_SIZE 96

/* Print the id into a buffer of NM_YARN_ID_SIZE bytes, and return the buffer. */
const char *nm_yarn_application_id_format(const struct nm_yarn_application_id *id, char *buf);
const char *nm_yarn_attempt_id_format(const struct nm_yarn_attempt_id *id, char *buf);
const char *nm_yarn_container_id_format(const struct nm_yarn_container_id *id, char *buf);

/*
 * Returns the number of the next container that a node allocates itself. `start` is the number below which the
 * ResourceManager lets this node allocate numbers. `last` is the last number used, or `start` if no number was used.
 * The result is further below `start`, by one, than `last` was below the start of its own epoch. After a restart of the
 * ResourceManager, `start` belongs to another epoch. If the distance began at zero again, a number would be used twice.
 *
 * In epoch 0 the numbers end below the first number of epoch 1, and are not negative as those of a Java node: masters
 * that parse the text of an id, such as Tez for each new container, wouldn't find a negative number again. The
 * ResourceManager's own numbers of epoch 0 begin at 1 and don't get that far.
 */
int64_t nm_yarn_container_number_below(int64_t start, int64_t last);

/* Accept only a text that format() writes for a non-negative id. -EINVAL: the text is not an id; -ERANGE: the number is
 * too large. */
int nm_yarn_application_id_parse(const char *text, struct nm_yarn_application_id *ret);
