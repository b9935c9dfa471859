// SPDX-License-Identifier: Apache-2.0
package nmd.packing.bench;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.hadoop.util.ReflectionUtils;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.NodeState;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceUtilization;
import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.RMContextImpl;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNodeImpl;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerUtils;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.placement.MultiNodeLookupPolicy;

/**
 * Measures the cost of one look-up, up to the first node, with the scheduler's own objects and without other threads.
 * For comparison, measures work of the scheduler that is independent of the policy: if containers may be placed on
 * several nodes at once, the scheduler collects all live nodes at each heartbeat.
 */
public final class LookUps {
    private static final int SLOTS = 20;
    private static final int SLOT_MB = 1024;
    /** The CPU time of the thread, which other processes on the machine hardly affect. */
    private static final ThreadMXBean CLOCK = ManagementFactory.getThreadMXBean();
    /** The result of the last look-up. Without it the compiler would remove the look-up. */
    private static volatile Object seen;

    private LookUps() {
    }

    /** A node that was never started. Reading it costs as much as reading a real one. */
    private static final class Running extends RMNodeImpl {
        Running(NodeId id, RMContext context) {
            super(id, context, id.getHost(), 1, 2, null, Resource.newInstance(SLOTS * SLOT_MB, SLOTS), "3.4.2");
        }

        @Override
        public NodeState getState() {
            return super.getState() == NodeState.NEW ? NodeState.RUNNING : NodeState.LOST;
        }
    }

    public static void main(String[] policies) throws Exception {
        for (int count : new int[] {1000, 10_000}) {
            Map<NodeId, FiCaSchedulerNode> nodes = nodes(count);
            System.out.printf("# %,d nodes: the scheduler's own collecting of them takes %.1f us a heartbeat%n", count,
                    micros(() -> alive(nodes)));
            for (String policy : policies) {
                System.out.printf("# %,d nodes: a look-up of %s takes %.1f us%n", count,
                        policy.substring(policy.lastIndexOf('.') + 1), micros(first(policy, nodes)));
            }
        }
    }

    @SuppressWarnings("unchecked")
    private static Supplier<Object> first(String className, Map<NodeId, FiCaSchedulerNode> nodes) throws Exception {
        MultiNodeLookupPolicy<FiCaSchedulerNode> policy = (MultiNodeLookupPolicy<FiCaSchedulerNode>)
                ReflectionUtils.newInstance(Class.forName(className), null);
        policy.addAndRefreshNodesSet(nodes.values(), "");
        return () -> policy.getPreferredNodeIterator(nodes.values(), "").next();
    }

    /** Makes nodes. Half of them have 7 to 15 of their 20 slots in use. */
    private static Map<NodeId, FiCaSchedulerNode> nodes(int count) {
        Map<NodeId, FiCaSchedulerNode> nodes = new HashMap<>();
        RMContextImpl context = new RMContextImpl();
        for (int i = 0; i < count; i++) {
            NodeId id = NodeId.newInstance("node" + i, 1);
            FiCaSchedulerNode scheduled = new FiCaSchedulerNode(new Running(id, context), false);
            int used = i % 2 * (SLOTS / 3 + i % (SLOTS / 2));
            scheduled.deductUnallocatedResource(Resource.newInstance(used * SLOT_MB, used));
            scheduled.setAggregatedContainersUtilization(ResourceUtilization.newInstance(used * SLOT_MB / 2, 0, 0.5f));
            scheduled.setNodeUtilization(ResourceUtilization.newInstance(used * SLOT_MB / 2, 0, 0.5f));
            scheduled.notifyNodeUpdate();
            nodes.put(id, scheduled);
        }
        return nodes;
    }

    private static Map<NodeId, FiCaSchedulerNode> alive(Map<NodeId, FiCaSchedulerNode> nodes) {
        Map<NodeId, FiCaSchedulerNode> alive = new HashMap<>();
        for (FiCaSchedulerNode node : nodes.values()) {
            if (SchedulerUtils.isNodeHeartbeated(node, TimeUnit.DAYS.toMillis(1))) {
                alive.put(node.getNodeID(), node);
            }
        }
        return alive;
    }

    /** Returns the mean time of a look-up during one second. In the second before it, Java compiles the code. */
    private static double micros(Supplier<Object> look) {
        repeat(look);
        return repeat(look);
    }

    private static double repeat(Supplier<Object> look) {
        long begun = CLOCK.getCurrentThreadCpuTime();
        long took = 0;
        long times = 0;
        while (took < TimeUnit.SECONDS.toNanos(1)) {
            seen = look.get();
            times++;
            took = CLOCK.getCurrentThreadCpuTime() - begun;
        }
        return took / 1000.0 / times;
    }
}
