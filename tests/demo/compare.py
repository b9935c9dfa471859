# SPDX-License-Identifier: Apache-2.0
"""What may be said of figures from a few runs of two kinds: a difference is one only if it is larger than that between
runs of the same kind, and if other work on the machine has not made it. Pure, so that it can be tested without a run."""

FOREIGN = 0.15  # other work on the machine, as a share of its CPUs, from which on it matters


def mean(values):
    return sum(values) / len(values)


def spread(values):
    """What runs of the same kind differ by."""
    return max(values) - min(values)


def difference(some, others):
    """By how much the first are more than the others: (difference of the means, noise, is it more than noise?). None
    where a run has no figure, or there is only one of a kind: nobody knows its noise."""
    if min(len(some), len(others)) < 2 or None in (*some, *others):
        return None
    apart, noise = mean(some) - mean(others), max(spread(some), spread(others))
    return apart, noise, abs(apart) > noise


def tell_jobs(on, off):
    """A sentence on jobs done with over-allocation and without."""
    d = difference(on, off)
    if d is None:
        return "Whether more batch jobs were done can't be said."
    told = f"{mean(on):g} batch jobs instead of {mean(off):g}"
    if not d[2]:
        return f"Batch jobs: no result. {told} is no more than two runs of the same kind differ by ({d[1]:g})."
    return f"Batch jobs: {told} were done ({abs(d[0]) / max(1, mean(off)):.0%} {'more' if d[0] > 0 else 'fewer'})."


def tell_speed(on, off):
    """A sentence on how fast guaranteed work was."""
    d = difference(on, off)
    if d is None or mean(off) <= 0:
        return "Whether guaranteed work was slowed can't be said."
    apart, noise = abs(d[0]) / mean(off), d[1] / mean(off)
    if not d[2]:
        return (f"Guaranteed work: no difference. {apart:.1%} is no more than two runs of the same kind differ by "
                f"({noise:.1%}).")
    return (f"Guaranteed work: {apart:.1%} {'faster' if d[0] > 0 else 'slower'} than without; two runs of the same kind "
            f"differ by {noise:.1%}.")


def tell(jobs, rates, foreign):
    """The sentences at the end. Each of the three: figures of the runs with over-allocation, and of those without;
    foreign: other work on the machine, as shares of its CPUs."""
    shares = [*foreign[0], *foreign[1]]
    between = f"Other work used {min(shares):.0%} to {max(shares):.0%} of this machine's CPUs during the runs"
    if spread(shares) > FOREIGN:
        return [f"No result: {between[0].lower()}{between[1:]}, and may have made any difference between them."]
    sentences = [tell_jobs(*jobs), tell_speed(*rates)]
    if max(shares) > FOREIGN:
        sentences.append(f"{between}: nmd lends out only what is really free, so there was less to gain.")
    return sentences
