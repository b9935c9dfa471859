/* SPDX-License-Identifier: Apache-2.0 */

/*
 * See backend.h. The program is attached with BPF_F_ALLOW_OVERRIDE, so a cgroup has at most one such program. A
 * restarted nmd does not know whether the previous nmd attached a program. Attaching replaces such a program, and
 * detaching removes it. systemd attaches no such program. libbpf is not used, because a program of three instructions
 * needs only three system calls.
 *
 * Loading and attaching the program requires CAP_BPF and CAP_NET_ADMIN. nmd.service leaves these capabilities out,
 * because with them a process can reconfigure the host's network. The effect depends on the queueing discipline:
 * pfifo_fast and prio use the priority, fq_codel does not.
 */

#include "cgroup/backend.h"

#include <linux/bpf.h>
#include <sys/syscall.h>

static int bpf(enum bpf_cmd cmd, union bpf_attr *attr)
{
    long r = syscall(SYS_bpf, cmd, attr, sizeof *attr);

    return r < 0 ? -errno : (int)r;
}

static int load(void)
{
    static const char license[] = "Apache-2.0";
    const struct bpf_insn program[] = {
        /* context->priority = NM_NETPRIO_BACKGROUND; return 1: allow the socket */
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2, .imm = NM_NETPRIO_BACKGROUND},
        {.code = BPF_STX | BPF_MEM | BPF_W, .dst_reg = BPF_REG_1, .src_reg = BPF_REG_2,
         .off = offsetof(struct bpf_sock, priority)},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1},
        {.code = BPF_JMP | BPF_EXIT},
    };
    union bpf_attr attr;

    memset(&attr, 0, sizeof attr); /* the kernel refuses nonzero bytes beyond the fields that it knows */
    attr.prog_type = BPF_PROG_TYPE_CGROUP_SOCK;
    attr.expected_attach_type = BPF_CGROUP_INET_SOCK_CREATE;
    attr.insns = (uint64_t)(uintptr_t)program;
    attr.insn_cnt = NM_ARRAY_SIZE(program);
    attr.license = (uint64_t)(uintptr_t)license;
    memcpy(attr.prog_name, "nmd_background", sizeof "nmd_background");
    return bpf(BPF_PROG_LOAD, &attr);
}

static int attach(int program_fd, int cgroup_fd, bool on)
{
    union bpf_attr attr;
    int r;

    memset(&attr, 0, sizeof attr);
    attr.target_fd = (uint32_t)cgroup_fd;
    attr.attach_bpf_fd = (uint32_t)program_fd;
    attr.attach_type = BPF_CGROUP_INET_SOCK_CREATE;
    if (on)
        attr.attach_flags = BPF_F_ALLOW_OVERRIDE;
    r = bpf(on ? BPF_PROG_ATTACH : BPF_PROG_DETACH, &attr);
    return r == -ENOENT && !on ? 0 : r; /* no program was attached */
}

/* Returns whether nmd may load and attach the program. Loading requires CAP_BPF. Attaching requires CAP_NET_ADMIN, as a
 * query of the attached programs does. The query has no effect on the host, so it is made instead of attaching. */
static int load_and_query(struct nm_cgroup_backend *b)
{
    union bpf_attr attr;

    b->net_priority_fd = load();
    if (b->net_priority_fd < 0)
        return b->net_priority_fd;
    memset(&attr, 0, sizeof attr);
    attr.query.target_fd = (uint32_t)b->slice_fd;
    attr.query.attach_type = BPF_CGROUP_INET_SOCK_CREATE;
    return bpf(BPF_PROG_QUERY, &attr);
}

void nm_netprio_probe(struct nm_cgroup_backend *b)
{
    int r = load_and_query(b);

    b->feature[NM_CGROUP_NET_PRIORITY] = r >= 0;
    b->missing[NM_CGROUP_NET_PRIORITY] =
        r >= 0                       ? NULL
        : r == -EPERM || r == -EACCES ? "not set, because it needs CAP_BPF and CAP_NET_ADMIN (see nmd(8))"
                                      : "not set, because this kernel has no BPF programs for cgroups "
                                        "(CONFIG_CGROUP_BPF)";
    if (r < 0)
        b->net_priority_fd = nm_close(b->net_priority_fd);
}

int nm_cgroup_set_net_background(const struct nm_cgroup_backend *b, const struct nm_cgroup *cg, bool on)
{
    if (!b->feature[NM_CGROUP_NET_PRIORITY])
        return -EOPNOTSUPP;
    return attach(b->net_priority_fd, cg->dir_fd, on);
}
