// SPDX-License-Identifier: Apache-2.0
package nmd.packing;

import java.util.Collection;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

import org.apache.hadoop.yarn.server.resourcemanager.RMContext;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AbstractCSQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.AbstractLeafQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CSQueue;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Repairs queues whose policy doesn't exist. {@link PlacementCheck} refuses such queues when the ResourceManager
 * starts, but {@code rmadmin -refreshQueues} can add them later without calling a policy. So this class checks the
 * scheduler's queues once a second. A queue without an existing policy gets this policy, but only applications
 * that are submitted later use it.
 */
final class QueueWatch {
    private static final Logger LOG = LoggerFactory.getLogger(QueueWatch.class);
    private static final long PERIOD = TimeUnit.SECONDS.toNanos(1);

    private final String className;
    private final AtomicLong due = new AtomicLong(System.nanoTime());

    QueueWatch(String className) {
        this.className = className;
    }

    /** Checks the queues if a second has passed since the last check. Otherwise returns immediately. */
    void look(Collection<? extends SchedulerNode> nodes) {
        long at = due.get();
        long now = System.nanoTime();
        if (now - at < 0 || nodes.isEmpty() || !due.compareAndSet(at, now + PERIOD)) {
            return;
        }
        RMContext context = nodes.iterator().next().getRMNode().getRMContext();
        if (context != null && context.getScheduler() instanceof CapacityScheduler) {
            CapacityScheduler scheduler = (CapacityScheduler) context.getScheduler();
            for (CSQueue queue : scheduler.getCapacitySchedulerQueueManager().getQueues().values()) {
                if (queue instanceof AbstractLeafQueue && !hasPolicy(queue, context)) {
                    packQueue((AbstractCSQueue) queue);
                }
            }
        }
    }

    private static boolean hasPolicy(CSQueue queue, RMContext context) {
        String name = queue.getMultiNodeSortingPolicyName();
        return name != null && context.getMultiNodeSortingManager().getMultiNodePolicy(name) != null;
    }

    private void packQueue(AbstractCSQueue queue) {
        LOG.error("Queue {} has no valid policy ({}): all its containers would go to one node. The queue is packed"
                + " until it has a policy. Applications that were submitted to it before must be submitted again."
                + " Set {}, or the next start of the ResourceManager fails.", queue.getQueuePath(),
                queue.getMultiNodeSortingPolicyName(), PlacementCheck.FOR_ALL);
        queue.setMultiNodeSortingPolicyName(className);
    }
}
