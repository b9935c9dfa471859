// SPDX-License-Identifier: Apache-2.0
package nmd.packing;

import java.util.Collection;
import java.util.concurrent.ThreadLocalRandom;

import org.apache.hadoop.yarn.api.records.NodeState;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;

/**
 * The order of nodes. Medium nodes come first, fuller ones earlier. Low nodes, which have no allocation, follow in a
 * random order. High nodes come last, emptier ones earlier. With fewer nodes than the minimum no node is to be freed,
 * and emptier nodes come first, which spreads containers.
 *
 * <p>The random order is constant during the life of the process: asynchronous scheduling proposes several containers
 * before the first is committed, and separate random orders would put them on as many empty nodes.
 *
 * <p>A node's place is one number, so that a look-up compares numbers instead of objects:
 * <pre>
 *   bits 61-62   its class, in the order in which classes are tried
 *   bits 41-60   the fraction in use, or its complement if fuller nodes come first; 0 for Low nodes
 *   bits 24-40   its place in the random order (for Low nodes: bits 24-60)
 *   bits  0-23   its index among the nodes passed in
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
     * Orders the nodes by their allocation, for which two numbers of each node are read. Measured use and state are
     * read only for nodes that reach the head: with many nodes, most of the cost is memory that isn't in the
     * processor's cache.
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

    /** Returns whether there are enough nodes to pack. It stops counting at the minimum. */
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
     * Returns whether the node may get containers. A node that is being decommissioned must become empty; the scheduler
     * reduces its size to the allocation, but only with its next heartbeat. The scheduler also removes unhealthy and
     * lost nodes a moment later. A node without capacity can't hold a container.
     */
    static boolean takesContainers(SchedulerNode node) {
        return node.getRMNode().getState() == NodeState.RUNNING && NodeUse.hasCapacity(node.getTotalResource());
    }

    /** Returns the exact place. The measured use can only move a node further back. */
    private long measured(SchedulerNode node) {
        Resource total = node.getTotalResource();
        return packed(node, total, NodeUse.measured(node, total, settings));
    }

    /**
     * Returns the place for packing. A node at the threshold counts as above it ({@code >=}), since the look-up doesn't
     * tell the size of the request.
     */
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

    /**
     * Returns a random number from the node's name and the process's seed, so that a node has the same place after it
     * has returned.
     */
    private long random(SchedulerNode node) {
        long z = seed + node.getNodeID().hashCode() * 0x9E3779B97F4A7C15L;
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }
}
