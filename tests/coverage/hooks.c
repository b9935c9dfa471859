/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Linked into every program of a build with --enable-coverage, and into no other. gcov writes its counters where a
 * program ends by exit() or calls execve(), and ours have more ends: children that leave by _exit() or fexecve(), a
 * death on purpose (NMD_FAULT), a suite's kill -9. The linker leads those calls here (--wrap, see configure.ac).
 *
 * A suite that means SIGKILL sends SIGRTMIN + 7 instead (tests/integration/lib.sh: nmd_kill), and this process does it
 * to itself. That isn't safe at any moment, as no writing of files in a signal handler is; to who sees no end of it
 * the suite comes with the real signal.
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
    __gcov_reset(); /* or what follows where that fails would not be written */
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
