// SPDX-License-Identifier: Apache-2.0
package nmd.packing;

import java.util.Collection;
import java.util.concurrent.ThreadLocalRandom;

import org.apache.hadoop.yarn.api.records.NodeState;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;

/**
 * The rules. Medium nodes first, the fuller the earlier; then Low ones, on which nothing is allocated, in a random
 * order; then High ones, the emptier the earlier. With fewer nodes than the minimum nothing is to be freed, and the
 * emptiest comes first, which spreads.
 *
 * <p>The random order stays for as long as the process lives: asynchronous scheduling proposes several containers
 * before the first is committed, and an order of its own for each would put them on as many empty nodes.
 *
 * <p>A node's place is one number, so that a look-up compares numbers and no objects:
 * <pre>
 *   bits 61-62   its class, in the order in which classes are tried
 *   bits 41-60   the fraction that is in use, or its complement where the fuller comes first; 0 for Low nodes
 *   bits 24-40   its place in the random order (for Low nodes: bits 24-60)
 *   bits  0-23   its index among the nodes handed in
 * </pre>
 */
final class NodeOrder {
    static final int INDEX_BITS = 24;
    private static final int FRACTION_BITS = 20;
    private static final int RANDOM_BITS = 17;
    private static final long FRACTION_MAX = (1L << FRACTION_BITS) - 1;
    private static final int CLASS_SHIFT = INDEX_BITS + RANDOM_BITS + FRACTION_BITS;

    private static final long MEDIUM = 0;
    private static final long LOW = 1;
    private static final long HIGH = 2;

    private final PackingSettings settings;
    private final long seed;

    NodeOrder(PackingSettings settings) {
        this(settings, ThreadLocalRandom.current().nextLong());
    }

    NodeOrder(PackingSettings settings, long seed) {
        this.settings = settings;
        this.seed = seed;
    }

    /**
     * Nodes get the place that their allocation gives them, for which two numbers are asked of each. What they measure
     * and their state are asked of those alone that reach the head: with many nodes, most of the cost is memory that
     * isn't in the processor's cache.
     */
    <N extends SchedulerNode> OrderedNodes<N> of(Collection<N> nodes) {
        boolean pack = enough(nodes);
        OrderedNodes<N> ordered = new OrderedNodes<>(nodes.size(), pack ? this::measured : this::spread);
        for (N node : nodes) {
            ordered.add(node, pack ? packed(node, node.getTotalResource(), 0) : spread(node));
        }
        ordered.ready();
        return ordered;
    }

    /** Counts no further than it must. */
    private boolean enough(Collection<? extends SchedulerNode> nodes) {
        int wanted = settings.minNodes;
        if (nodes.size() < wanted) {
            return false;
        }
        for (SchedulerNode node : nodes) {
            if (wanted == 0) {
                break;
            }
            if (takesContainers(node)) {
                wanted--;
            }
        }
        return wanted == 0;
    }

    /**
     * A node that is being decommissioned must become empty. The scheduler shrinks it to what it holds, but only with
     * its next heartbeat. One that is unhealthy or lost is taken from the scheduler, a moment later too. One without
     * capacity could never hold anything.
     */
    static boolean takesContainers(SchedulerNode node) {
        return node.getRMNode().getState() == NodeState.RUNNING && NodeUse.hasCapacity(node.getTotalResource());
    }

    /** What a node measures can only put it further back. */
    private long measured(SchedulerNode node) {
        Resource total = node.getTotalResource();
        return packed(node, total, NodeUse.measured(node, total, settings));
    }

    /** {@code >=}: the look-up doesn't say how much is asked for, so a node at the threshold counts as over it. */
    private long packed(SchedulerNode node, Resource total, double measured) {
        double allocated = NodeUse.allocated(node.getAllocatedResource(), total, settings);
        if (allocated >= settings.highThreshold || measured >= settings.measuredThreshold) {
            return place(HIGH, scaled(Math.max(allocated, measured)), node);
        }
        if (allocated > 0) {
            return place(MEDIUM, FRACTION_MAX - scaled(allocated), node);
        }
        return LOW << CLASS_SHIFT | random(node) >>> (64 - FRACTION_BITS - RANDOM_BITS) << INDEX_BITS;
    }

    private long spread(SchedulerNode node) {
        double allocated = NodeUse.allocated(node.getAllocatedResource(), node.getTotalResource(), settings);
        return place(MEDIUM, scaled(allocated), node);
    }

    private long place(long rank, long fraction, SchedulerNode node) {
        return rank << CLASS_SHIFT | fraction << (INDEX_BITS + RANDOM_BITS)
                | random(node) >>> (64 - RANDOM_BITS) << INDEX_BITS;
    }

    private static long scaled(double fraction) {
        return (long) (Math.min(fraction, 1) * FRACTION_MAX);
    }

    /** The node's name, mixed with what this process drew: the same node has the same place after it comes back. */
    private long random(SchedulerNode node) {
        long z = seed + node.getNodeID().hashCode() * 0x9E3779B97F4A7C15L;
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }
}
