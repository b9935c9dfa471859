// SPDX-License-Identifier: Apache-2.0
package nmd.packing;

import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceInformation;
import org.apache.hadoop.yarn.api.records.ResourceUtilization;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;

/** The fraction of a node that is in use, as the scheduler counts it and as the node measures it. */
final class NodeUse {
    private NodeUse() {
    }

    static boolean hasCapacity(Resource total) {
        return total.getMemorySize() > 0;
    }

    /** Returns the allocated fraction. It exceeds 1 if the node was shrunk below its containers. */
    static double allocated(Resource used, Resource total, PackingSettings settings) {
        double fraction = fraction(used.getMemorySize(), total.getMemorySize());
        return settings.resource == PackingSettings.Resource.MEMORY ? fraction : dominant(used, total, fraction);
    }

    /** Returns the fraction of the scarcest resource, including GPUs and other kinds. */
    private static double dominant(Resource used, Resource total, double memory) {
        double most = Math.max(memory, fraction(used.getVirtualCores(), total.getVirtualCores()));
        ResourceInformation[] have = total.getResources();
        ResourceInformation[] taken = used.getResources();
        // The first two are memory and virtual cores.
        for (int i = 2; i < have.length && i < taken.length; i++) {
            most = Math.max(most, fraction(taken[i].getValue(), have[i].getValue()));
        }
        return most;
    }

    /**
     * Returns the measured fraction of the node's last heartbeat, 0 if it had none. The containers' use is relative to
     * the capacity that the scheduler may allocate. The node's use, which includes all other processes, is relative to
     * the machine's capacity, if the node has reported that.
     */
    static double measured(SchedulerNode node, Resource total, PackingSettings settings) {
        double most = 0;
        if (settings.measured.containers) {
            most = measured(node.getAggregatedContainersUtilization(), total, settings);
        }
        if (settings.measured.node) {
            Resource machine = node.getRMNode().getPhysicalResource();
            Resource whole = machine != null && hasCapacity(machine) ? machine : total;
            most = Math.max(most, measured(node.getNodeUtilization(), whole, settings));
        }
        return most;
    }

    private static double measured(ResourceUtilization used, Resource total, PackingSettings settings) {
        if (used == null) {
            return 0;
        }
        double memory = fraction(used.getPhysicalMemory(), total.getMemorySize());
        return settings.resource == PackingSettings.Resource.MEMORY ? memory
                : Math.max(memory, fraction(used.getCPU(), total.getVirtualCores()));
    }

    /** Returns the fraction, 0 for a node that can't measure, which reports -1. */
    private static double fraction(double used, double total) {
        return total > 0 && used > 0 ? used / total : 0;
    }
}
