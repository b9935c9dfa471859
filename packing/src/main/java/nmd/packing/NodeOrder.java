// SPDX-License-Identifier: Apache-2.0
package nmd.packing;

import java.util.Collection;
import java.util.concurrent.ThreadLocalRandom;

import org.apache.hadoop.yarn.api.records.NodeState;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;

/**
 * The order in which nodes are tried. Medium nodes come first, and among them the fuller nodes. Low nodes, which have
 * no allocation, follow in a random order. High nodes come last, and among them the emptier nodes come first. If there
 * are fewer nodes than the minimum, no node needs to be freed. The emptier nodes then come first, which spreads
 * containers.
 *
 * <p>The random order is constant during the life of the process. Asynchronous scheduling proposes several containers
 * before the first of them is committed. With a new random order for each look-up, these containers would be placed on
 * as many empty nodes.
 *
 * <p>The place of a node in the order is one number, so that a look-up compares numbers and not objects:
 * <pre>
 *   bits 61-62   the node's class, in the order in which classes are tried
 *   bits 41-60   the fraction in use, or its complement if fuller nodes come first; 0 for Low nodes
 *   bits 24-40   the place in the random order (for Low nodes: bits 24-60)
 *   bits  0-23   the index among the nodes that were passed in
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
     * Orders the nodes by their allocation, for which it reads two numbers of each node. The measured use and the state
     * are read only for nodes that reach the head. With many nodes, most of the time is spent on reading memory that
     * isn't in the processor's cache.
     */
    <N extends SchedulerNode> OrderedNodes<N> of(Collection<N> nodes) {
        boolean pack = enough(nodes);
        OrderedNodes<N> ordered = new OrderedNodes<>(nodes.size(), pack ? this::exactPlace : this::spread);
        for (N node : nodes) {
            ordered.add(node, pack ? packed(node, node.getTotalResource(), 0) : spread(node));
        }
        ordered.ready();
        return ordered;
    }

    /** Returns whether there are enough nodes for packing. Stops counting at the minimum. */
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
     * Returns whether the node may get containers. A node that is being decommissioned must become empty. The scheduler
     * reduces the size of such a node to its allocation, but only at the node's next heartbeat. The scheduler also
     * removes unhealthy and lost nodes only after a moment. A node without capacity can't hold a container.
     */
    static boolean takesContainers(SchedulerNode node) {
        return node.getRMNode().getState() == NodeState.RUNNING && NodeUse.hasCapacity(node.getTotalResource());
    }

    /**
     * Returns the exact place of the node, which includes the measured use. The measured use can only move a node
     * further back.
     */
    private long exactPlace(SchedulerNode node) {
        Resource total = node.getTotalResource();
        return packed(node, total, NodeUse.measured(node, total, settings));
    }

    /**
     * Returns the place for packing. A node whose use equals the threshold counts as above it ({@code >=}), since the
     * size of the request is not known in a look-up.
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
     * Returns a random number that depends only on the node's name and the process's seed. So a node that is removed
     * and added again has the same place.
     */
    private long random(SchedulerNode node) {
        long z = seed + node.getNodeID().hashCode() * 0x9E3779B97F4A7C15L;
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }
}
