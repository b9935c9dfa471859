// SPDX-License-Identifier: Apache-2.0
package nmd.packing;

import java.lang.reflect.Proxy;
import java.util.HashMap;
import java.util.Map;

import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.NodeState;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceUtilization;
import org.apache.hadoop.yarn.server.resourcemanager.rmnode.RMNode;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.common.fica.FiCaSchedulerNode;

/** An object of the scheduler's own node class, on an RMNode with the given name, sizes and state. */
final class TestNode {
    final FiCaSchedulerNode node;
    private final Map<String, Object> results = new HashMap<>();

    TestNode(String name, long mb, int vcores) {
        this(name, Resource.newInstance(mb, vcores));
    }

    TestNode(String name, Resource size) {
        results.put("getNodeID", NodeId.newInstance(name, 1));
        results.put("getHostName", name);
        results.put("getTotalCapability", size);
        results.put("getState", NodeState.RUNNING);
        node = new FiCaSchedulerNode((RMNode) Proxy.newProxyInstance(RMNode.class.getClassLoader(),
                new Class<?>[] {RMNode.class}, (proxy, method, args) -> results.get(method.getName())), false);
    }

    TestNode uses(long mb, int vcores) {
        node.deductUnallocatedResource(Resource.newInstance(mb, vcores));
        return this;
    }

    TestNode is(NodeState state) {
        results.put("getState", state);
        return this;
    }

    TestNode machine(long mb, int cores) {
        results.put("getPhysicalResource", Resource.newInstance(mb, cores));
        return this;
    }

    TestNode containersMeasured(int mb, float cpu) {
        node.setAggregatedContainersUtilization(ResourceUtilization.newInstance(mb, mb, cpu));
        return this;
    }

    TestNode nodeMeasured(int mb, float cpu) {
        node.setNodeUtilization(ResourceUtilization.newInstance(mb, mb, cpu));
        return this;
    }
}
