/* SPDX-License-Identifier: Apache-2.0 */

/* See number.h. */

#include "spark/number.h"

#include <errno.h>

#include "util/parse.h"

int nm_spark_take_number(struct nm_bytes *from, uint64_t max, uint64_t *ret)
{
    uint64_t value;
    size_t n = 0;

    while (n < from->size && from->data[n] >= '0' && from->data[n] <= '9')
        n++;
    if (n == 0)
        return -EBADMSG;
    if (nm_parse_sized((const char *)from->data, n, &value) < 0 || value > max)
        return -ERANGE;
    (void)nm_bytes_take(from, n);
    *ret = value;
    return 0;
}

char *nm_spark_write_number(int64_t number, char *to)
{
    uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;
    char digits[20];
    size_t n = 0;

    do
        digits[n++] = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    if (number < 0)
        *to++ = '-';
    while (n > 0)
        *to++ = digits[--n];
    return to;
}
