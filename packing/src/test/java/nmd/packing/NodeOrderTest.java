// SPDX-License-Identifier: Apache-2.0
package nmd.packing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Random;
import java.util.Set;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.NodeState;
import org.apache.hadoop.yarn.api.records.ResourceUtilization;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerNode;
import org.junit.jupiter.api.Test;

class NodeOrderTest {
    /** Reads settings from pairs of keys and values. Unless the pairs set it, there is no minimum of nodes. */
    static PackingSettings settings(String... pairs) {
        Configuration conf = new Configuration(false);
        conf.set(PackingSettings.PREFIX + "pack.min-nodes", "0");
        for (int i = 0; i < pairs.length; i += 2) {
            conf.set(PackingSettings.PREFIX + "pack." + pairs[i], pairs[i + 1]);
        }
        return PackingSettings.read(conf, "pack");
    }

    private static String order(PackingSettings settings, TestNode... nodes) {
        return order(new NodeOrder(settings), Arrays.asList(nodes));
    }

    private static String order(NodeOrder order, List<TestNode> nodes) {
        List<FiCaSchedulerNode> scheduled = new ArrayList<>();
        nodes.forEach(n -> scheduled.add(n.node));
        List<String> names = new ArrayList<>();
        order.of(scheduled).forEachRemaining(n -> names.add(n.getNodeName()));
        return String.join(" ", names);
    }

    private static TestNode node(String name, int slotsOfTen) {
        return new TestNode(name, 10240, 10).uses(1024L * slotsOfTen, slotsOfTen);
    }

    @Test
    void mediumNodesComeFirstThenLowThenHighNodes() {
        assertEquals("m5 m2 low h8 h10", order(settings("high-threshold", "80"), node("h10", 10), node("low", 0),
                node("m2", 2), node("h8", 8), node("m5", 5)));
    }

    @Test
    void aNodeAtTheThresholdIsHigh() {
        for (int percent = 10; percent <= 100; percent += 10) {
            String threshold = String.valueOf(percent);
            TestNode at = node("at", percent / 10);
            assertEquals("low at", order(settings("high-threshold", threshold), at, node("low", 0)), threshold);
            assertEquals("below low", order(settings("high-threshold", threshold),
                    new TestNode("below", 10240, 1).uses(1024L * percent / 10 - 1, 0), node("low", 0)), threshold);
        }
    }

    @Test
    void nodesOfDifferentSizesAreComparedByFraction() {
        // the largest node is returned again at the end, because the last node is smaller
        assertEquals("small big empty big", order(settings(), new TestNode("empty", 4096, 4),
                new TestNode("big", 65536, 16).uses(16384, 4), new TestNode("small", 8192, 4).uses(4096, 1)));
    }

    @Test
    void withDominantTheScarcestResourceCounts() {
        TestNode cores = new TestNode("cores", 10240, 10).uses(1024, 9);
        TestNode memory = new TestNode("memory", 10240, 10).uses(2048, 1);
        assertEquals("memory cores", order(settings(), cores, memory));
        assertEquals("memory low cores", order(settings("resource", "dominant"), cores, memory, node("low", 0)));
    }

    @Test
    void withMemoryCoresDontCount() {
        TestNode cores = new TestNode("cores", 10240, 10).uses(3072, 10);
        assertEquals("cores low", order(settings("resource", "memory"), node("low", 0), cores));
        assertEquals("low cores", order(settings("resource", "dominant"), node("low", 0), cores));
    }

    @Test
    void aNodeWithHighMeasuredUseIsHigh() {
        TestNode hot = node("hot", 5).containersMeasured(9216, 1);
        TestNode cool = node("cool", 3).containersMeasured(1024, 1);
        TestNode low = node("low", 0);
        assertEquals("cool low hot", order(settings(), hot, cool, low));
        assertEquals("hot cool low", order(settings("measured", "off"), hot, cool, low));
        assertEquals("hot cool low", order(settings("measured", "node"), hot, cool, low));
        assertEquals("hot cool low", order(settings("measured-threshold", "95"), hot, cool, low));
    }

    @Test
    void theUseOfOtherProcessesOnTheMachineCounts() {
        // the node uses 14 GiB of the machine's 16 GiB, of which the scheduler may allocate 10 GiB
        TestNode busy = node("busy", 5).machine(16384, 16).nodeMeasured(14000, 1);
        TestNode low = node("low", 0);
        assertEquals("low busy", order(settings(), busy, low));
        assertEquals("busy low", order(settings("measured", "containers"), busy, low));
        TestNode roomy = node("roomy", 5).machine(32768, 16).nodeMeasured(14000, 1);
        assertEquals("roomy low", order(settings(), roomy, low));
        TestNode unknown = node("unknown", 5).nodeMeasured(8192, 1);
        assertEquals("low unknown", order(settings(), unknown, low));
    }

    @Test
    void anEmptyNodeWithHighMeasuredUseIsHigh() {
        TestNode hot = node("hot", 0).nodeMeasured(9000, 1);
        assertEquals("cool h7 hot", order(settings(), node("cool", 0), hot, node("h7", 7)));
    }

    @Test
    void measuredProcessorUseCountsOnlyWithDominant() {
        TestNode busy = node("busy", 3).containersMeasured(1024, 9.5f);
        assertEquals("busy low", order(settings(), busy, node("low", 0)));
        assertEquals("low busy", order(settings("resource", "dominant"), busy, node("low", 0)));
    }

    @Test
    void aNodeWithoutMeasurementsIsOrderedByItsAllocation() {
        TestNode silent = node("m", 3).containersMeasured(-1, -1).nodeMeasured(-1, -1);
        assertEquals("m low", order(settings(), node("low", 0), silent));
    }

    @Test
    void nodesThatCantTakeContainersAreLeftOut() {
        assertEquals("here", order(settings(), node("going", 3).is(NodeState.DECOMMISSIONING), node("here", 0),
                node("ill", 3).is(NodeState.UNHEALTHY), node("lost", 3).is(NodeState.LOST),
                new TestNode("nothing", 0, 0)));
        assertEquals("", order(settings(), node("going", 3).is(NodeState.DECOMMISSIONING)));
        assertEquals("", order(settings()));
    }

    @Test
    void containersAreSpreadOnFewerNodesThanTheMinimum() {
        PackingSettings five = settings("min-nodes", "5");
        TestNode[] four = {node("a1", 1), node("b0", 0), node("c9", 9), node("d5", 5)};
        assertEquals("b0 a1 d5 c9", order(five, four));
        TestNode[] more = Arrays.copyOf(four, 5);
        more[4] = node("e2", 2);
        assertEquals("d5 e2 a1 b0 c9", order(five, more));
    }

    @Test
    void nodesThatCantTakeContainersDontCountForTheMinimum() {
        PackingSettings two = settings("min-nodes", "2");
        assertEquals("m low", order(two, node("m", 3), node("low", 0), node("going", 0).is(NodeState.DECOMMISSIONING)));
        assertEquals("low m", order(settings("min-nodes", "3"), node("m", 3), node("low", 0),
                node("going", 0).is(NodeState.DECOMMISSIONING)));
        assertEquals("low m", order(settings("min-nodes", "3"), node("m", 3), node("low", 0),
                new TestNode("none", 0, 0)));
    }

    @Test
    void theRandomOrderOfLowNodesDoesntChangeWithinAProcess() {
        List<TestNode> nodes = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            nodes.add(node("n" + i, 0));
        }
        NodeOrder one = new NodeOrder(settings());
        String first = order(one, nodes);
        Collections.shuffle(nodes, new Random(1));
        assertEquals(first, order(one, nodes));
        assertNotEquals(first, order(new NodeOrder(settings()), nodes), "each process has another random order");
    }

    @Test
    void eachLowNodeIsFirstInSomeRandomOrder() {
        List<TestNode> nodes = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            nodes.add(node("n" + i, 0));
        }
        Set<String> firsts = new HashSet<>();
        for (int seed = 0; seed < 300; seed++) {
            firsts.add(order(new NodeOrder(settings(), seed), nodes).split(" ")[0]);
        }
        assertEquals(10, firsts.size());
    }

    /** Compares the result of the heap with that of the simplest implementation, which compares all pairs of nodes. */
    @Test
    void theHeapGivesTheSameOrderAsSorting() {
        Random random = new Random(7);
        for (int round = 0; round < 200; round++) {
            List<TestNode> nodes = new ArrayList<>();
            int n = random.nextInt(40);
            for (int i = 0; i < n; i++) {
                // all nodes have different use, so that no two nodes have the same place
                nodes.add(new TestNode("n" + i, 100_000, 1).uses(i * 2000L + 1 + random.nextInt(1000), 0));
                if (random.nextInt(4) == 0) {
                    nodes.get(i).containersMeasured(80_000 + 7 * i, 0);
                }
            }
            List<TestNode> sorted = new ArrayList<>(nodes);
            sorted.sort((a, b) -> Double.compare(rank(a), rank(b)));
            Collections.shuffle(nodes, random);
            List<String> names = new ArrayList<>();
            sorted.forEach(t -> names.add(t.node.getNodeName()));
            assertEquals(String.join(" ", names), order(settings(), nodes.toArray(new TestNode[0])));
        }
    }

    private static double rank(TestNode t) {
        double used = t.node.getAllocatedResource().getMemorySize() / 100_000.0;
        ResourceUtilization utilization = t.node.getAggregatedContainersUtilization();
        double measured = utilization == null ? 0 : utilization.getPhysicalMemory() / 100_000.0;
        return used >= 0.6 || measured >= 0.8 ? 1000 + Math.max(used, measured) : -used;
    }

    @Test
    void theLargestNodeIsReturnedAgainIfTheLastNodeIsSmaller() {
        TestNode big = new TestNode("big", 20480, 20).uses(14336, 1);
        assertEquals("big full big", order(settings(), node("full", 10), big));
        assertEquals("full big", order(settings(), node("full", 7), new TestNode("big", 20480, 20).uses(20480, 1)));
        assertEquals("a b", order(settings(), node("a", 7), node("b", 8)), "no node is returned twice");
        assertEquals("full", order(settings(), node("full", 10), big.is(NodeState.DECOMMISSIONING)));
    }

    @Test
    void theIteratorThrowsAfterTheLastNode() {
        Iterator<FiCaSchedulerNode> one = new NodeOrder(settings()).of(Collections.singletonList(node("a", 1).node));
        assertTrue(one.hasNext());
        one.next();
        assertFalse(one.hasNext());
        assertThrows(NoSuchElementException.class, one::next);
    }
}
