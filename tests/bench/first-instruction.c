/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Says when it began, in ns of CLOCK_MONOTONIC: what a launch is measured by. With a command, it
 * starts that after having said so, as a shell would, and waits for it: what the measuring script
 * itself needs to start a process is in neither of two such times.
 */

#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

int main(int argc, char **argv)
{
    struct timespec ts;
    int status;
    pid_t pid;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    printf("%lld\n", (long long)ts.tv_sec * 1000000000 + ts.tv_nsec);
    if (argc < 2)
        return 0;
    fflush(stdout);
    if (posix_spawnp(&pid, argv[1], NULL, NULL, argv + 1, environ) != 0 ||
        waitpid(pid, &status, 0) != pid)
        return 1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
