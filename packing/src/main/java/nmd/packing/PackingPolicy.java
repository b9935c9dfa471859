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
 * Fills some nodes so that others stay empty and can be given back. The Capacity Scheduler makes one object of this
 * class at its start and asks it, for each container that it places, in which order it is to try the nodes.
 *
 * <p>The order is made anew at each look-up, of the nodes that are handed in: an order that is a second old fills the
 * node that was best then beyond the threshold. Look-ups come from several threads; all that they share is immutable,
 * but for the list that {@link #getNodesPerPartition} shows, and which partitions have strays.
 *
 * <p>A stray is a node of another partition. The scheduler's list of the nodes that have no label keeps those that get
 * one after they have come, until they come anew: it would place nothing there, but they must not count as nodes of
 * that partition.
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

    /** What the scheduler calls: it passes no configuration, so the scheduler's own is read here. */
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

    /** Nothing is sorted here: with a sorting interval of 0 this is called before each look-up. */
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

    /** The list itself where there is none: a look-up isn't to pay for what is seldom. */
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
