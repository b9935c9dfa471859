// SPDX-License-Identifier: Apache-2.0
package nmd.packing.bench;

import java.util.List;
import org.apache.hadoop.yarn.api.records.ApplicationAttemptId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.SchedulingRequest;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.Allocation;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.ContainerUpdates;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEvent;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.event.SchedulerEventType;
import org.apache.hadoop.yarn.sls.scheduler.SLSCapacityScheduler;

/**
 * The Capacity Scheduler of the simulator, with timers around its two entry points: the calls of applications
 * (allocate), and a node's heartbeat, in which containers are placed and the policy is called.
 */
public class WatchedScheduler extends SLSCapacityScheduler {
    static final Durations ALLOCATE = new Durations();
    static final Durations HEARTBEAT = new Durations();
    /** False during the first seconds, in which the compiler runs. */
    static volatile boolean counting;
    /** The instance in use, because the simulator doesn't give access to its ResourceManager. */
    static volatile WatchedScheduler running;

    public WatchedScheduler() {
        running = this;
    }

    @Override
    public Allocation allocate(ApplicationAttemptId attempt, List<ResourceRequest> requests,
            List<SchedulingRequest> schedulingRequests, List<ContainerId> release, List<String> blacklistAdditions,
            List<String> blacklistRemovals, ContainerUpdates updates) {
        long begun = System.nanoTime();
        try {
            return super.allocate(attempt, requests, schedulingRequests, release, blacklistAdditions,
                    blacklistRemovals, updates);
        } finally {
            count(ALLOCATE, begun);
        }
    }

    @Override
    public void handle(SchedulerEvent event) {
        long begun = System.nanoTime();
        super.handle(event);
        if (event.getType() == SchedulerEventType.NODE_UPDATE) {
            count(HEARTBEAT, begun);
        }
    }

    private static void count(Durations durations, long begun) {
        if (counting) {
            durations.add(System.nanoTime() - begun);
        }
    }
}
