// SPDX-License-Identifier: Apache-2.0
package nmd.packing.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.SchedulerNode;

/**
 * Reads every node at short intervals and keeps the times at which it had containers: pairs of times, in milliseconds
 * since the first job. A container that starts and ends between two reads is missed, but no container is so short.
 */
final class NodeWatch {
    private final Map<String, List<Long>> spans = new TreeMap<>();
    private final long end;
    private long last;
    private double usedMegabyteMillis;
    private double megabyteMillis;
    private double nodeMillis;

    NodeWatch(long end) {
        this.end = end;
    }

    /** Assumes that the present state of the nodes has lasted since the previous read. */
    void look(Iterable<? extends SchedulerNode> nodes, long time) {
        long now = Math.min(time, end);
        long span = now - last;
        if (span <= 0) {
            return;
        }
        for (SchedulerNode node : nodes) {
            List<Long> list = spans.computeIfAbsent(node.getNodeName(), name -> new ArrayList<>());
            usedMegabyteMillis += (double) node.getAllocatedResource().getMemorySize() * span;
            megabyteMillis += (double) node.getTotalResource().getMemorySize() * span;
            if (node.getNumContainers() > 0) {
                nodeMillis += span;
                extend(list, now);
            }
        }
        last = now;
    }

    private void extend(List<Long> list, long now) {
        int size = list.size();
        if (size > 0 && list.get(size - 1) == last) {
            list.set(size - 1, now);
        } else {
            list.add(last);
            list.add(now);
        }
    }

    String toJson() {
        return String.format("\"milliseconds\": %d, \"utilization\": %.4f, \"nodes_in_use\": %.2f, \"spans\": %s", last,
                usedMegabyteMillis / megabyteMillis, nodeMillis / last, spans.values());
    }
}
