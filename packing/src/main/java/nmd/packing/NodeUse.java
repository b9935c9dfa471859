// SPDX-License-Identifier: Apache-2.0
package nmd.packing;

import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceInformation;
import org.apache.hadoop.yarn.api.records.ResourceUtilization;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;

/** The fraction of a node that is in use, as counted by the scheduler and as measured by the node. */
final class NodeUse {
    private NodeUse() {
    }

    static boolean hasCapacity(Resource total) {
        return total.getMemorySize() > 0;
    }

    /**
     * Returns the allocated fraction. It is greater than 1 if the node's size was reduced to less than the size of its
     * containers.
     */
    static double allocated(Resource used, Resource total, PackingSettings settings) {
        double fraction = fraction(used.getMemorySize(), total.getMemorySize());
        return settings.resource == PackingSettings.Resource.MEMORY ? fraction : dominant(used, total, fraction);
    }

    /** Returns the highest fraction of all resources, including GPUs and other kinds of resources. */
    private static double dominant(Resource used, Resource total, double memory) {
        double most = Math.max(memory, fraction(used.getVirtualCores(), total.getVirtualCores()));
        ResourceInformation[] have = total.getResources();
        ResourceInformation[] taken = used.getResources();
        // the first two resources are memory and virtual cores
        for (int i = 2; i < have.length && i < taken.length; i++) {
            most = Math.max(most, fraction(taken[i].getValue(), have[i].getValue()));
        }
        return most;
    }

    /**
     * Returns the measured fraction from the node's last heartbeat, or 0 if there was no heartbeat. The use of the
     * containers is divided by the capacity that the scheduler may allocate. The use of the node includes all other
     * processes, so it is divided by the capacity of the machine, if the node has reported this capacity.
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

    /** Returns the fraction. Returns 0 for a node that can't measure its use and therefore reports -1. */
    private static double fraction(double used, double total) {
        return total > 0 && used > 0 ? used / total : 0;
    }
}
