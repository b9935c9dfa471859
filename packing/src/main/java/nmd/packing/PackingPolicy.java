// SPDX-License-Identifier: Apache-2.0
package nmd.packing;

import java.util.Collection;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;

import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.MultiNodeLookupPolicy;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Fills some nodes so that other nodes stay empty and can be given back. The Capacity Scheduler makes one object of
 * this class when it starts. For each container that the scheduler places, it calls this object for the order in which
 * to try the nodes.
 *
 * <p>The order is computed at each look-up, from the nodes that are passed in. If an order were used for a second, the
 * node that was first when the order was computed would be filled beyond the threshold. Several threads do look-ups.
 * Their shared data is immutable, except the list that {@link #getNodesPerPartition} returns and the partitions with
 * strays.
 *
 * <p>A stray is a node of another partition. If a node gets a label after it has registered, the scheduler's list of
 * nodes without a label still contains the node until the node registers again. The scheduler would place no container
 * of the partition without a label on the stray, but strays must not count as nodes of the partition.
 */
public final class PackingPolicy<N extends SchedulerNode> implements MultiNodeLookupPolicy<N> {
    private static final Logger LOG = LoggerFactory.getLogger(PackingPolicy.class);

    static {
        PolicySetup.refuseUnregistered(PackingPolicy.class.getName());
    }

    private final NodeOrder order;
    private final QueueWatch watch = new QueueWatch(PackingPolicy.class.getName());
    private final Map<String, Collection<N>> lastKnown = new ConcurrentHashMap<>();
    private final Set<String> withStrays = ConcurrentHashMap.newKeySet();

    /**
     * Is called by the scheduler. The scheduler passes no configuration, so the constructor reads the scheduler's own
     * configuration.
     */
    public PackingPolicy() {
        this(PolicySetup.load(PackingPolicy.class.getName()));
    }

    PackingPolicy(PackingSettings settings) {
        this.order = new NodeOrder(settings);
        LOG.info("Containers are packed: {}", settings);
    }

    @Override
    public Iterator<N> getPreferredNodeIterator(Collection<N> nodes, String partition) {
        return order.of(withStrays.contains(partition) ? withoutStrays(nodes, partition) : nodes);
    }

    /**
     * Stores the list. Doesn't sort it, since this method is called before each look-up if the sorting interval is 0.
     */
    @Override
    public void addAndRefreshNodesSet(Collection<N> nodes, String partition) {
        Collection<N> own = withoutStrays(nodes, partition);
        Collection<N> before = lastKnown.put(partition, own);
        if (before == null || before.size() != own.size()) {
            LOG.debug("Partition \"{}\" has {} nodes to choose from", partition, own.size());
        }
        if (own.size() < nodes.size()) {
            withStrays.add(partition);
        } else {
            withStrays.remove(partition);
        }
        watch.look(nodes);
    }

    /** Returns the nodes without strays. If there are no strays, returns the list itself, which saves time. */
    private Collection<N> withoutStrays(Collection<N> nodes, String partition) {
        for (N node : nodes) {
            if (!partition.equals(node.getPartition())) {
                return nodes.stream().filter(n -> partition.equals(n.getPartition())).collect(Collectors.toList());
            }
        }
        return nodes;
    }

    @Override
    public Set<N> getNodesPerPartition(String partition) {
        Set<N> sorted = new LinkedHashSet<>();
        order.of(lastKnown.getOrDefault(partition, Collections.<N>emptyList())).forEachRemaining(sorted::add);
        return Collections.unmodifiableSet(sorted);
    }
}
