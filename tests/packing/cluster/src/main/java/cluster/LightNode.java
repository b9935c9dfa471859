// SPDX-License-Identifier: Apache-2.0
package cluster;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.apache.hadoop.util.VersionInfo;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerExitStatus;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerState;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.NodeLabel;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceUtilization;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.server.api.ResourceTracker;
import org.apache.hadoop.yarn.server.api.protocolrecords.NMContainerStatus;
import org.apache.hadoop.yarn.server.api.protocolrecords.NodeHeartbeatRequest;
import org.apache.hadoop.yarn.server.api.protocolrecords.NodeHeartbeatResponse;
import org.apache.hadoop.yarn.server.api.protocolrecords.RegisterNodeManagerRequest;
import org.apache.hadoop.yarn.server.api.protocolrecords.RegisterNodeManagerResponse;
import org.apache.hadoop.yarn.server.api.records.MasterKey;
import org.apache.hadoop.yarn.server.api.records.NodeAction;
import org.apache.hadoop.yarn.server.api.records.NodeHealthStatus;
import org.apache.hadoop.yarn.server.api.records.NodeStatus;

/**
 * A NodeManager as the ResourceManager sees one: it registers, sends heartbeats, has containers and applies the
 * answers. Its containers have no processes. All methods hold the node's lock, a heartbeat too.
 */
final class LightNode {
    final NodeId id;
    final Resource size;
    final String label;
    private final ResourceTracker tracker;
    private final Map<ContainerId, Container> running = new LinkedHashMap<>();
    private final List<ContainerStatus> ended = new ArrayList<>();
    private MasterKey containerKey;
    private MasterKey tokenKey;
    private int responseId;
    private int beats; // that were answered since it registered
    private boolean registered;
    private boolean stopped;
    private boolean healthy = true;
    private int containersMb = -1;
    private int nodeMb = -1;
    private float containersCpu = -1;
    private float nodeCpu = -1;
    private String state = "NEW";

    LightNode(NodeId id, Resource size, String label, ResourceTracker tracker) {
        this.id = id;
        this.size = size;
        this.label = label;
        this.tracker = tracker;
    }

    /** Sends one heartbeat, or a registration if one is due. */
    synchronized void beat() throws IOException, YarnException {
        if (stopped) {
            return;
        }
        if (!registered) {
            register();
            return;
        }
        List<ContainerStatus> reported = new ArrayList<>(ended);
        NodeHeartbeatResponse answer = tracker.nodeHeartbeat(NodeHeartbeatRequest.newInstance(status(), containerKey,
                tokenKey, labels()));
        ended.removeAll(reported);
        apply(answer);
    }

    private void register() throws IOException, YarnException {
        List<NMContainerStatus> containers = new ArrayList<>();
        for (Container c : running.values()) {
            containers.add(NMContainerStatus.newInstance(c.getId(), c.getVersion(), ContainerState.RUNNING,
                    c.getResource(), "", ContainerExitStatus.INVALID, c.getPriority(), System.currentTimeMillis()));
        }
        responseId = 0;
        beats = 0;
        RegisterNodeManagerResponse answer = tracker.registerNodeManager(RegisterNodeManagerRequest.newInstance(id, 1,
                size, VersionInfo.getVersion(), containers, Collections.emptyList(), labels(), size, null, status()));
        if (answer.getNodeAction() == NodeAction.SHUTDOWN) {
            stop("REFUSED");
            return;
        }
        containerKey = answer.getContainerTokenMasterKey();
        tokenKey = answer.getNMTokenMasterKey();
        registered = true;
        state = "RUNNING";
    }

    private NodeStatus status() {
        List<ContainerStatus> containers = new ArrayList<>(ended);
        for (Container c : running.values()) {
            containers.add(ContainerStatus.newInstance(c.getId(), ContainerState.RUNNING, "",
                    ContainerExitStatus.INVALID));
        }
        return NodeStatus.newInstance(id, responseId, containers, Collections.emptyList(),
                NodeHealthStatus.newInstance(healthy, healthy ? "" : "unhealthy for a test",
                        System.currentTimeMillis()),
                ResourceUtilization.newInstance(containersMb, containersMb, containersCpu),
                ResourceUtilization.newInstance(nodeMb, nodeMb, nodeCpu), Collections.emptyList());
    }

    private Set<NodeLabel> labels() {
        return label.isEmpty() ? Collections.emptySet() : Collections.singleton(NodeLabel.newInstance(label));
    }

    private void apply(NodeHeartbeatResponse answer) {
        if (answer.getNodeAction() == NodeAction.RESYNC) {
            registered = false;
            return;
        }
        if (answer.getNodeAction() == NodeAction.SHUTDOWN) {
            stop("SHUTDOWN");
            return;
        }
        responseId = answer.getResponseId();
        beats++;
        containerKey = answer.getContainerTokenMasterKey() != null ? answer.getContainerTokenMasterKey() : containerKey;
        tokenKey = answer.getNMTokenMasterKey() != null ? answer.getNMTokenMasterKey() : tokenKey;
        for (ContainerId c : answer.getContainersToCleanup()) {
            end(c);
        }
    }

    private void end(ContainerId c) {
        if (running.remove(c) != null) {
            ended.add(ContainerStatus.newInstance(c, ContainerState.COMPLETE, "",
                    ContainerExitStatus.KILLED_BY_APPMASTER));
        }
    }

    private void stop(String why) {
        stopped = true;
        running.clear();
        ended.clear();
        state = why;
    }

    /** Does what an application master requests from a NodeManager. */
    synchronized void start(Container container) {
        if (!stopped) {
            running.put(container.getId(), container);
        }
    }

    synchronized void finish(ContainerId container) {
        end(container);
    }

    /** Ends as a machine without power does: the ResourceManager gets no report. */
    synchronized void die() {
        stop("STOPPED");
    }

    /** Runs again, as after a restart with an empty state. */
    synchronized void revive() {
        stopped = false;
        registered = false;
        state = "NEW";
    }

    synchronized void setHealthy(boolean value) {
        healthy = value;
    }

    synchronized void setContainersUse(int mb, float cpu) {
        containersMb = mb;
        containersCpu = cpu;
    }

    synchronized void setNodeUse(int mb, float cpu) {
        nodeMb = mb;
        nodeCpu = cpu;
    }

    synchronized String toJson() {
        long usedMb = 0;
        int usedVcores = 0;
        for (Container c : running.values()) {
            usedMb += c.getResource().getMemorySize();
            usedVcores += c.getResource().getVirtualCores();
        }
        return String.format("{\"name\":\"%s\",\"port\":%d,\"label\":\"%s\",\"mb\":%d,\"vcores\":%d,\"containers\":%d,"
                + "\"used_mb\":%d,\"used_vcores\":%d,\"healthy\":%b,\"state\":\"%s\",\"beats\":%d}", id.getHost(),
                id.getPort(), label, size.getMemorySize(), size.getVirtualCores(), running.size(), usedMb, usedVcores,
                healthy, state, beats);
    }

    synchronized int running() {
        return running.size();
    }

    /** Returns whether the ResourceManager knows the node and every end of a container on it. */
    synchronized boolean allReported() {
        return stopped || registered && ended.isEmpty();
    }
}
