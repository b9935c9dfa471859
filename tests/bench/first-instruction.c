/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Prints the time at which it started, in ns of CLOCK_MONOTONIC, to measure launches. If it has a command as argument,
 * it then starts the command as a shell would, and waits for its end. The command runs this program again. The
 * difference between the two printed times excludes the time in which the measuring script starts a process.
 *
 * The time is taken at the first instruction, before the C library initializes: the library queries the processor's
 * features (CPUID), which costs half a millisecond if a hypervisor must answer.
 */

#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

/* The assembler code below writes this variable by name, before the C library runs. */
static volatile struct timespec first_instruction __attribute__((used)) = {.tv_sec = -1};

#ifdef __x86_64__
/* The entry point, which the linker's option -e names. The C library's own _start gets the stack and rdx unchanged
 * from the kernel. */
__asm__(".globl nm_first_instruction\n"
        "nm_first_instruction:\n"
        "    mov %rdx, %r12\n" /* the kernel's rdx for _start */
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

    if (argc > 1 || first_instruction.tv_sec < 0) /* not the measured process, or the time is not available */
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
