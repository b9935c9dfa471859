// SPDX-License-Identifier: Apache-2.0
package nmd.packing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;

import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerNode;
import org.junit.jupiter.api.Test;

class PackingPolicyTest {
    private static List<FiCaSchedulerNode> nodes(int n) {
        List<FiCaSchedulerNode> nodes = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            nodes.add(new TestNode("n" + i, 10240, 10).node);
        }
        return nodes;
    }

    private static PackingPolicy<FiCaSchedulerNode> policy(String... pairs) {
        return new PackingPolicy<>(NodeOrderTest.settings(pairs));
    }

    /** Places each container on the first node that has room, as the scheduler does. */
    private static void place(PackingPolicy<FiCaSchedulerNode> policy, List<FiCaSchedulerNode> nodes,
            String partition) {
        Resource one = Resource.newInstance(1024, 1);
        for (Iterator<FiCaSchedulerNode> i = policy.getPreferredNodeIterator(nodes, partition); i.hasNext();) {
            FiCaSchedulerNode node = i.next();
            if (node.getUnallocatedResource().getMemorySize() >= one.getMemorySize()) {
                node.deductUnallocatedResource(one);
                return;
            }
        }
    }

    private static List<Long> slots(List<FiCaSchedulerNode> nodes) {
        List<Long> used = new ArrayList<>();
        nodes.forEach(n -> used.add(n.getAllocatedResource().getMemorySize() / 1024));
        used.sort(null);
        return used.subList((int) used.stream().filter(u -> u == 0).count(), used.size());
    }

    @Test
    void theNodesOfThePublishedExampleAreFilledAsPublished() {
        List<FiCaSchedulerNode> nodes = nodes(10);
        PackingPolicy<FiCaSchedulerNode> policy = policy("high-threshold", "80", "min-nodes", "5");
        for (int i = 0; i < 20; i++) {
            place(policy, nodes, "");
        }
        assertEquals("[4, 8, 8]", slots(nodes).toString());
        for (int i = 20; i < 80; i++) {
            place(policy, nodes, "");
        }
        assertEquals("[8, 8, 8, 8, 8, 8, 8, 8, 8, 8]", slots(nodes).toString());
        for (int i = 80; i < 100; i++) {
            place(policy, nodes, "");
        }
        assertEquals("[10, 10, 10, 10, 10, 10, 10, 10, 10, 10]", slots(nodes).toString());
    }

    @Test
    void eachPartitionHasItsOwnOrderAndMinimum() {
        PackingPolicy<FiCaSchedulerNode> policy = policy("min-nodes", "5");
        List<FiCaSchedulerNode> few = nodes(4);
        few.forEach(n -> n.updateLabels(Collections.singleton("gpu")));
        List<FiCaSchedulerNode> many = nodes(6);
        for (int i = 0; i < 8; i++) {
            place(policy, few, "gpu");
            place(policy, many, "");
        }
        assertEquals("[2, 2, 2, 2]", slots(few).toString());
        assertEquals("[2, 6]", slots(many).toString());
        policy.addAndRefreshNodesSet(few, "gpu");
        assertEquals(4, policy.getNodesPerPartition("gpu").size());
        assertEquals(0, policy.getNodesPerPartition("").size());
    }

    /**
     * Six of seven nodes are enough for packing, five are not. The order doesn't contain a node that has got a label.
     */
    @Test
    void aNodeThatGotALabelLaterIsNoLongerCounted() {
        PackingPolicy<FiCaSchedulerNode> policy = policy("min-nodes", "6");
        List<FiCaSchedulerNode> nodes = nodes(7);
        FiCaSchedulerNode stray = nodes.get(3);
        stray.updateLabels(Collections.singleton("gpu"));
        policy.addAndRefreshNodesSet(nodes, "");
        assertEquals(6, policy.getNodesPerPartition("").size());
        for (int i = 0; i < 3; i++) {
            place(policy, nodes, "");
        }
        assertEquals("[3]", slots(nodes).toString());
        assertEquals(0, stray.getAllocatedResource().getMemorySize());

        nodes.get(5).updateLabels(Collections.singleton("ssd"));
        policy.addAndRefreshNodesSet(nodes, "");
        for (int i = 0; i < 4; i++) {
            place(policy, nodes, "");
        }
        assertEquals("[1, 1, 1, 1, 3]", slots(nodes).toString());

        stray.updateLabels(Collections.emptySet());
        nodes.get(5).updateLabels(Collections.emptySet());
        policy.addAndRefreshNodesSet(nodes, "");
        assertEquals(7, policy.getNodesPerPartition("").size());
    }

    /** A look-up uses the nodes that are passed to it, not the nodes of an earlier look-up. */
    @Test
    void aLookUpDoesntUseTheNodesOfAnEarlierLookUp() {
        PackingPolicy<FiCaSchedulerNode> policy = policy();
        policy.addAndRefreshNodesSet(nodes(3), "");
        List<FiCaSchedulerNode> now = nodes(2);
        Iterator<FiCaSchedulerNode> order = policy.getPreferredNodeIterator(now, "");
        List<FiCaSchedulerNode> seen = new ArrayList<>();
        order.forEachRemaining(seen::add);
        assertEquals(2, seen.size());
        assertTrue(now.containsAll(seen));
    }

    /** Many threads do look-ups while containers start and end. Each thread gets every node exactly once. */
    @Test
    void eachOfManyThreadsGetsEveryNodeExactlyOnce() throws InterruptedException {
        PackingPolicy<FiCaSchedulerNode> policy = policy();
        List<FiCaSchedulerNode> nodes = nodes(100);
        AtomicReference<Throwable> wrong = new AtomicReference<>();
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < 8; t++) {
            Thread thread = new Thread(() -> {
                for (int round = 0; round < 300; round++) {
                    place(policy, nodes, "");
                    List<FiCaSchedulerNode> seen = new ArrayList<>();
                    policy.getPreferredNodeIterator(nodes, "").forEachRemaining(seen::add);
                    assertEquals(100, seen.stream().distinct().count());
                    assertEquals(100, seen.size());
                    policy.addAndRefreshNodesSet(nodes, "");
                    assertEquals(100, policy.getNodesPerPartition("").size());
                }
            });
            thread.setUncaughtExceptionHandler((who, e) -> wrong.set(e));
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        assertNull(wrong.get());
    }
}
