# SPDX-License-Identifier: Apache-2.0
"""The requests of services and jobs, and their use over time. Pure: computes sizes from figures of the machine.

Memory and idle vcores are over-subscribed: the services request four fifths of both and use a fifth of their request. Jobs wait
most of the time, so that at least half of the CPU is idle without over-allocation, on fast and slow machines. The work of a job
is computed from the speed of the machine.
"""
import collections
import math

MIB = 1 << 20
VCORES = 16          # of the node, for any number of CPUs: a vcore is a share of the CPUs
CAPACITY_MIB = 1536  # for up to eight CPUs; with more CPUs, web has more processes, each of which needs memory
SHORTEST = 20        # the least number of seconds for the phases of a run

Service = collections.namedtuple("Service", "name memory_mib vcores plan")
Job = collections.namedtuple("Job", "memory_mib vcores rounds wait units held_mib")

# Share of the memory, and vcores.
SERVICES = {"web": (0.27, 5), "db": (0.54, 8)}
HELD_MEMORY = sum(memory for memory, _ in SERVICES.values())
HELD_VCORES = sum(vcores for _, vcores in SERVICES.values()) / VCORES
# A job requests 9 % of the memory, so that two of them fit into the memory that the services do not request.
JOB_MEMORY, JOB_USES = 0.09, 0.06
JOB_SECONDS, JOB_CPU_SECONDS, JOB_ROUNDS = 4.4, 0.01, 10
N_WAITING = 6        # jobs that wait in the queue

QUIET = {True: "services are quiet: what they hold and do not use is lent out",
         False: "services are quiet: what they do not use lies idle"}  # over-allocation: on or off
# Ends of the phases, as shares of the run.
PHASES = (
    (8 / 24, QUIET),
    (12 / 24, "web ramps up its CPU"),
    (14 / 24, "web is quiet again"),
    (18 / 24, "db ramps up its memory"),
    (1, "services are quiet again"),
)


def capacity_mib(cpus, machine_mib):
    return int(min(CAPACITY_MIB * max(1, cpus / 8), machine_mib * 0.6))


def phase_of(seconds, length, over_allocation):
    phase = next((name for end, name in PHASES if seconds < end * length), PHASES[-1][1])
    return phase[over_allocation] if phase is QUIET else phase


def services(length, cpus, capacity):
    """Returns the services with their use in each phase: (seconds, CPUs, MiB). The services end a second before the run."""
    spans = [(end - begin) * length for begin, end in zip((0, *(end for end, _ in PHASES)), (end for end, _ in PHASES))]
    spans[-1] -= 1
    # A fifth of the requested CPU is 16 % of the node. The used share of memory is similar, and includes the interpreters.
    cpu = {"web": cpus * 0.06, "db": cpus * 0.10}
    low = {"web": capacity * 0.045, "db": capacity * 0.095}
    made = []
    for name, (share, vcores) in SERVICES.items():
        plan = [(span, cpu[name], int(low[name])) for span in spans]
        if name == "web":
            plan[1] = (spans[1], float(cpus), int(low[name]))
        else:
            plan[3] = (spans[3], cpu[name], int(capacity * (share - 0.03)))
        made.append(Service(name, int(capacity * share), vcores, plan))
    return made


def job(units_per_second, capacity):
    """Returns a job that takes JOB_CPU_SECONDS of CPU time on this machine, in rounds."""
    units = max(1, math.floor(units_per_second * JOB_CPU_SECONDS / JOB_ROUNDS))
    wait = (JOB_SECONDS - JOB_CPU_SECONDS) / JOB_ROUNDS
    # The interpreter itself takes about 12 MiB.
    return Job(int(capacity * JOB_MEMORY), 1, JOB_ROUNDS, round(wait, 4), units, max(1, int(capacity * JOB_USES) - 12))
