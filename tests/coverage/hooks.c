/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Linked into every program of a build with --enable-coverage, and into no other. gcov writes its counters when a
 * program ends by exit() or calls execve(). nmd's programs also end in other ways: children by _exit() or fexecve(), a
 * fault step (NMD_FAULT), a suite's kill -9. The linker redirects those calls to this file (--wrap, see configure.ac).
 *
 * Instead of SIGKILL a suite sends SIGRTMIN + 7 (tests/integration/lib.sh: nmd_kill), and the process then kills itself
 * by SIGKILL after it has written its counters. Writing files in a signal handler isn't safe at every moment, so the
 * suite sends the real SIGKILL to a process that doesn't end.
 */

#include <gcov.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

int __real_fexecve(int fd, char *const argv[], char *const env[]);
_Noreturn void __real__exit(int status);
int __real_kill(pid_t pid, int sig);
int __wrap_fexecve(int fd, char *const argv[], char *const env[]);
_Noreturn void __wrap__exit(int status);
int __wrap_kill(pid_t pid, int sig);

int __wrap_fexecve(int fd, char *const argv[], char *const env[])
{
    __gcov_dump();
    __gcov_reset(); /* otherwise the counts since a failed call would be lost */
    return __real_fexecve(fd, argv, env);
}

_Noreturn void __wrap__exit(int status)
{
    __gcov_dump();
    __real__exit(status);
}

int __wrap_kill(pid_t pid, int sig)
{
    if (sig == SIGKILL && pid == getpid())
        __gcov_dump();
    return __real_kill(pid, sig);
}

static void die(int sig)
{
    (void)sig;
    (void)__wrap_kill(getpid(), SIGKILL);
}

__attribute__((constructor)) static void listen_for_end(void)
{
    (void)signal(SIGRTMIN + 7, die);
}
