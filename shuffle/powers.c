/* SPDX-License-Identifier: Apache-2.0 */

/* See powers.h. */

#include "shuffle/powers.h"

#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/error.h"

static int keep_reading(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    const uint32_t reading = 1u << CAP_DAC_READ_SEARCH;
    const struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {{.effective = reading, .permitted = reading}};

    return RET_NERRNO(syscall(SYS_capset, &head, data));
}

int nm_shuffle_drop_powers(const char *user, char **ret_message)
{
    const struct passwd *pw = getpwnam(user);
    int r;

    if (!pw)
        return nm_fail(ret_message, -EINVAL, "--user '%s': there is no such user", user);
    if ((r = RET_NERRNO(prctl(PR_SET_KEEPCAPS, 1L))) < 0 || (r = RET_NERRNO(setgroups(0, NULL))) < 0 ||
        (r = RET_NERRNO(setresgid(pw->pw_gid, pw->pw_gid, pw->pw_gid))) < 0 ||
        (r = RET_NERRNO(setresuid(pw->pw_uid, pw->pw_uid, pw->pw_uid))) < 0 || (r = keep_reading()) < 0 ||
        (r = RET_NERRNO(prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L))) < 0)
        return nm_fail(ret_message, r, "Can't become the user '%s': %s", user, strerror(-r));
    return 0;
}
