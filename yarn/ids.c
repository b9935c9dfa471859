/* SPDX-License-Identifier: Apache-2.0 */

/* See ids.h. */

#include "yarn/ids.h"

#include <inttypes.h>
#include <stdio.h>

#include "util/error.h"
#include "util/parse.h"

#define EPOCH_SHIFT 40
#define SEQUENCE_MASK ((INT64_C(1) << EPOCH_SHIFT) - 1)

const char *nm_yarn_application_id_format(const struct nm_yarn_application_id *id, char *buf)
{
    (void)snprintf(buf, NM_YARN_ID_SIZE, "application_%" PRId64 "_%04" PRId32, id->cluster, id->number);
    return buf;
}

const char *nm_yarn_attempt_id_format(const struct nm_yarn_attempt_id *id, char *buf)
{
    (void)snprintf(buf, NM_YARN_ID_SIZE, "appattempt_%" PRId64 "_%04" PRId32 "_%06" PRId32, id->application.cluster,
                   id->application.number, id->number);
    return buf;
}

const char *nm_yarn_container_id_format(const struct nm_yarn_container_id *id, char *buf)
{
    const struct nm_yarn_attempt_id *attempt = &id->attempt;
    int64_t epoch = id->number >> EPOCH_SHIFT;
    char prefix[24] = "";

    if (epoch > 0)
        (void)snprintf(prefix, sizeof prefix, "e%02" PRId64 "_", epoch);
    (void)snprintf(buf, NM_YARN_ID_SIZE, "container_%s%" PRId64 "_%04" PRId32 "_%02" PRId32 "_%06" PRId64, prefix,
                   attempt->application.cluster, attempt->application.number, attempt->number,
                   id->number & SEQUENCE_MASK);
    return buf;
}

int64_t nm_yarn_container_number_below(int64_t start, int64_t last)
{
    const uint64_t used = -(uint64_t)last & SEQUENCE_MASK;
    const uint64_t from = (uint64_t)start >> EPOCH_SHIFT > 0 ? (uint64_t)start : UINT64_C(1) << EPOCH_SHIFT;

    return (int64_t)(from - used - 1);
}

/* ---- parsing ------------------------------------------------------------------------------ */

static int take_word(const char **text, const char *word)
{
    size_t n = strlen(word);

    if (strncmp(*text, word, n) != 0)
        return -EINVAL;
    *text += n;
    return 0;
}

/* Parses a number of at least `digits` digits. A number with more digits must not start with 0, so that each number has
 * only one valid text. */
static int take_number(const char **text, unsigned digits, int64_t max, int64_t *ret)
{
    const char *begin = *text, *p = begin;
    uint64_t v;
    int r = nm_parse_digits(&p, &v);

    if (r < 0)
        return r;
    if ((size_t)(p - begin) < digits || ((size_t)(p - begin) > digits && *begin == '0'))
        return -EINVAL;
    if (v > (uint64_t)max)
        return -ERANGE;
    *text = p;
    *ret = (int64_t)v;
    return 0;
}

/* Parses "1410901177871_0001". */
static int take_application(const char **text, struct nm_yarn_application_id *ret)
{
    struct nm_yarn_application_id id;
    int64_t number;
    int r = take_number(text, 1, INT64_MAX, &id.cluster);

    if (r == 0)
        r = take_word(text, "_");
    if (r == 0)
        r = take_number(text, 4, INT32_MAX, &number);
    if (r < 0)
        return r;
    id.number = (int32_t)number;
    *ret = id;
    return 0;
}

int nm_yarn_application_id_parse(const char *text, struct nm_yarn_application_id *ret)
{
    struct nm_yarn_application_id id;
    int r = take_word(&text, "application_");

    if (r == 0)
        r = take_application(&text, &id);
    if (r < 0 || *text)
        return r < 0 ? r : -EINVAL;
    *ret = id;
    return 0;
}
