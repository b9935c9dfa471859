/* SPDX-License-Identifier: Apache-2.0 */

/* Says when it began, in ns of CLOCK_MONOTONIC: what a launch is measured by. */

#include <stdio.h>
#include <time.h>

int main(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    printf("%lld\n", (long long)ts.tv_sec * 1000000000 + ts.tv_nsec);
    return 0;
}
