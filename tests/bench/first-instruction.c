/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Says when it began, in ns of CLOCK_MONOTONIC: what a launch is measured by. With a command, it
 * starts that after having said so, as a shell would, and waits for it: what the measuring script
 * itself needs to start a process is in neither of two such times.
 *
 * The time is taken at the very first instruction, before the C library sets itself up: that asks
 * the processor what it can do (CPUID), which costs half a millisecond where a hypervisor has to answer.
 */

#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

/* Written before the C library runs, and by name from below. */
static volatile struct timespec first_instruction __attribute__((used)) = {.tv_sec = -1};

#ifdef __x86_64__
/* Where the kernel enters: the linker's -e names it. The C library's own _start finds the stack and rdx
 * as the kernel left them. */
__asm__(".globl nm_first_instruction\n"
        "nm_first_instruction:\n"
        "    mov %rdx, %r12\n" /* what _start is given there */
        "    mov $228, %eax\n" /* clock_gettime */
        "    mov $1, %edi\n"   /* CLOCK_MONOTONIC */
        "    lea first_instruction(%rip), %rsi\n"
        "    syscall\n"
        "    mov %r12, %rdx\n"
        "    jmp _start\n");
#else
__asm__(".globl nm_first_instruction\n"
        ".set nm_first_instruction, _start\n");
#endif

static void take_time(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    first_instruction = now;
}

int main(int argc, char **argv)
{
    int status;
    pid_t pid;

    if (argc > 1 || first_instruction.tv_sec < 0) /* not the measured one, or no way to know it there */
        take_time();
    printf("%lld\n",
           (long long)first_instruction.tv_sec * 1000000000 + first_instruction.tv_nsec);
    if (argc < 2)
        return 0;
    fflush(stdout);
    if (posix_spawnp(&pid, argv[1], NULL, NULL, argv + 1, environ) != 0 ||
        waitpid(pid, &status, 0) != pid)
        return 1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
