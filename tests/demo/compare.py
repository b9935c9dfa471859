# SPDX-License-Identifier: Apache-2.0
"""Compares figures from a few runs of two kinds. A difference is a result only if it is more than twice the difference between
runs of the same kind, and if no other work on the machine can have caused it. Pure, so that it can be tested without a run."""

import math

FOREIGN = 0.15    # share of the CPUs used by other programs above which there is no result
AS_FAST = 0.02    # difference up to which guaranteed work counts as equally fast


def mean(values):
    return sum(values) / len(values)


def spread(values):
    """Returns the largest difference between runs of the same kind."""
    return max(values) - min(values)


def difference(some, others):
    """Returns (difference of the means, noise, whether it is a result). None if a run has no figure, or if there is only one
    run of a kind, so that the noise is not known."""
    if min(len(some), len(others)) < 2 or None in (*some, *others):
        return None
    apart, noise = mean(some) - mean(others), max(spread(some), spread(others))
    return apart, noise, abs(apart) > 2 * noise


def report_jobs(on, off):
    """Returns a sentence on the number of completed jobs with over-allocation and without."""
    d = difference(on, off)
    if d is None:
        return "Batch jobs: no result, since a run has no figure."
    values = f"{mean(on):g} instead of {mean(off):g}"
    if not d[2]:
        return f"Batch jobs: no result. {values} is within the noise: two runs of the same kind differ by {d[1]:g}."
    times = f", {mean(on) / mean(off):.1f} times as many" if mean(off) > 0 else ""
    return f"Batch jobs: {values} were done ({abs(d[0]) / max(1, mean(off)):.0%} {'more' if d[0] > 0 else 'fewer'}{times})."


def is_as_fast(on, off):
    """Returns whether guaranteed work was equally fast with over-allocation and without: the means differ by less than AS_FAST,
    including the error of the difference of two means (each of two runs, with half of the runs' difference as its error)."""
    d = difference(on, off)
    if d is None or mean(off) <= 0:
        return False
    error = math.hypot(spread(on) / len(on), spread(off) / len(off))
    return abs(d[0]) + error <= AS_FAST * mean(off)


def report_speed(on, off):
    """Returns a sentence on the speed of guaranteed work. The speed is the share of its needed CPU that it got. This share does
    not change with the machine's own speed, other than the amount of completed work. Over-allocation can't make guaranteed work
    faster, so a gain is noise."""
    d = difference(on, off)
    if d is None or mean(off) <= 0:
        return "Guaranteed work: no result, since a run has no figure."
    apart, noise = abs(d[0]) / mean(off), d[1] / mean(off)
    figures = f"{apart:.1%} apart, and two runs of the same kind differ by {noise:.1%}"
    if d[2] and d[0] < 0 and apart > AS_FAST:
        return f"Guaranteed work: {apart:.1%} slower than without; two runs of the same kind differ by {noise:.1%}."
    if is_as_fast(on, off):
        return f"Guaranteed work: as fast as without ({figures})."
    return f"Guaranteed work: no result ({figures})."


def has_result(jobs, speeds, foreign):
    """Returns whether over-allocation gained jobs while the speeds of guaranteed work differ by at most AS_FAST."""
    d = difference(*jobs)
    return max(*foreign[0], *foreign[1]) <= FOREIGN and d is not None and d[2] and d[0] > 0 and None not in (*speeds[0], *speeds[1]) and \
        abs(mean(speeds[0]) - mean(speeds[1])) <= AS_FAST * mean(speeds[1])


def report(jobs, speeds, foreign):
    """Returns the sentences at the end. Each argument has figures of the runs with over-allocation and of the runs without.
    speeds: shares of the needed CPU; foreign: use by other programs of the machine, as shares of its CPUs."""
    shares = [*foreign[0], *foreign[1]]
    if max(shares) > FOREIGN:
        return [f"No result: other work used {min(shares):.0%} to {max(shares):.0%} of this machine's CPUs during the runs. nmd "
                "lends out only what is really free, and other work may have made any difference between the runs. Try again when "
                "the machine is idle, or see a recorded run: ./demo --replay."]
    return [report_jobs(*jobs), report_speed(*speeds)]
