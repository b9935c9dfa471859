/* SPDX-License-Identifier: Apache-2.0 */

/* See devices.h. */

#include "cgroup/devices.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "util/parse.h"

#define MAJORS 512u /* CHRDEV_MAJOR_MAX of Linux 4.17 and later */
#define MODESET 254u
#define CONTROL 255u
#define ALL "rwm"

/* Major numbers that Linux assigns dynamically (include/linux/fs.h: CHRDEV_MAJOR_DYN_*). */
static bool is_dynamic(unsigned major)
{
    return (major >= 234 && major <= 254) || (major >= 384 && major < MAJORS);
}

/* Marks the major numbers in the section of character devices, which has lines "  1 mem". */
static void find_majors(const char *text, bool has[static MAJORS])
{
    static const char section[] = "Character devices:";

    for (unsigned major = 0; major < MAJORS; major++)
        has[major] = is_dynamic(major);
    text = strstr(text, section);
    if (!text)
        return;
    for (text += strcspn(text, "\n"); *text == '\n' && text[1] && text[1] != '\n'; text += strcspn(text, "\n")) {
        uint64_t major;

        text += 1 + strspn(text + 1, " ");
        if (nm_parse_digits(&text, &major) >= 0 && major < MAJORS)
            has[major] = true;
    }
}

static int put_major(unsigned major, nm_devices_put_t put, void *userdata)
{
    char device[24];

    (void)snprintf(device, sizeof device, "char-%u", major);
    return put(userdata, device, ALL);
}

/* Adds the accessible devices of the restricted major number. */
static int put_minors(const struct nm_cgroup_devices *d, nm_devices_put_t put, void *userdata)
{
    char device[48];
    int r = 0;

    for (unsigned minor = 0; r >= 0 && minor <= CONTROL; minor++) {
        const bool is_allowed = minor < NM_CGROUP_MINORS ? d->minors >> minor & 1 : minor >= MODESET;

        if (!is_allowed)
            continue;
        (void)snprintf(device, sizeof device, "/dev/char/%" PRIu32 ":%u", d->major, minor);
        r = put(userdata, device, ALL);
    }
    return NM_MIN(r, 0);
}

int nm_devices_list(const struct nm_cgroup_devices *d, const char *proc_devices, nm_devices_put_t put, void *userdata)
{
    bool has[MAJORS];
    int r;

    assert(d->restricts);
    r = put(userdata, "block-*", ALL);
    find_majors(proc_devices, has);
    for (unsigned major = 0; r >= 0 && major < MAJORS; major++)
        if (has[major] && major != d->major)
            r = put_major(major, put, userdata);
    return r < 0 ? r : put_minors(d, put, userdata);
}
