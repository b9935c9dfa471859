// SPDX-License-Identifier: Apache-2.0
package cluster;

import java.io.IOException;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.hadoop.yarn.api.ApplicationMasterProtocol;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateRequest;
import org.apache.hadoop.yarn.api.protocolrecords.AllocateResponse;
import org.apache.hadoop.yarn.api.protocolrecords.FinishApplicationMasterRequest;
import org.apache.hadoop.yarn.api.protocolrecords.RegisterApplicationMasterRequest;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ApplicationSubmissionContext;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.ContainerUpdateType;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.ExecutionTypeRequest;
import org.apache.hadoop.yarn.api.records.FinalApplicationStatus;
import org.apache.hadoop.yarn.api.records.Priority;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.api.records.UpdateContainerRequest;
import org.apache.hadoop.yarn.api.records.YarnApplicationState;
import org.apache.hadoop.yarn.client.ClientRMProxy;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.exceptions.ApplicationMasterNotRegisteredException;
import org.apache.hadoop.yarn.exceptions.YarnException;
import org.apache.hadoop.yarn.util.Records;

/**
 * An application with an unmanaged master. Each order of containers has a separate priority, so that the
 * ResourceManager's count of pending containers can be compared with the application's. All methods hold the lock.
 */
final class LightApp {
    /** An order of containers under one priority, and the number of them that are still pending. */
    private static final class Order {
        final Resource size;
        final String host;
        final String rack;
        final String label;
        final boolean relax;
        final ExecutionType type;
        final String command;
        final String url;
        int pending;

        Order(Resource size, String host, String rack, String label, boolean relax, ExecutionType type, String command,
                String url, int pending) {
            this.size = size;
            this.host = host;
            this.rack = rack;
            this.label = label;
            this.relax = relax;
            this.type = type;
            this.command = command;
            this.url = url;
            this.pending = pending;
        }
    }

    final ApplicationId id;
    final String queue;
    private final LightCluster cluster;
    private final ApplicationMasterProtocol master;
    private final Map<Integer, Order> orders = new LinkedHashMap<>();
    private final Map<ContainerId, Container> held = new LinkedHashMap<>();
    private final List<ResourceRequest> unsent = new ArrayList<>();
    private final List<ContainerId> toRelease = new ArrayList<>();
    private final List<UpdateContainerRequest> toUpdate = new ArrayList<>();
    /** Ends of containers, and results of requests to their nodes, by the containers' ids. */
    private final Map<ContainerId, String> ends = new LinkedHashMap<>();
    private final RealNodes nodes;
    private int nextPriority = 1;
    private int responseId;
    private int lost;
    private boolean registered;
    private boolean finished;

    LightApp(LightCluster cluster, YarnClient client, Configuration conf, String queue) throws Exception {
        this.cluster = cluster;
        this.queue = queue;
        this.nodes = new RealNodes(conf);
        ApplicationSubmissionContext context = client.createApplication().getApplicationSubmissionContext();
        id = context.getApplicationId();
        context.setApplicationName("light");
        context.setApplicationType("LIGHT");
        context.setQueue(queue);
        context.setUnmanagedAM(true);
        context.setResource(Resource.newInstance(1, 1));
        context.setAMContainerSpec(Records.newRecord(org.apache.hadoop.yarn.api.records.ContainerLaunchContext.class));
        client.submitApplication(context);
        UserGroupInformation user = UserGroupInformation.createRemoteUser(id.toString());
        user.addToken(awaitToken(client));
        master = user.doAs((PrivilegedExceptionAction<ApplicationMasterProtocol>) () ->
                ClientRMProxy.createRMProxy(conf, ApplicationMasterProtocol.class));
        register();
    }

    private org.apache.hadoop.security.token.Token<?> awaitToken(YarnClient client) throws Exception {
        EnumSet<YarnApplicationState> over = EnumSet.of(YarnApplicationState.FAILED, YarnApplicationState.KILLED);
        long end = System.nanoTime() + 60_000_000_000L;
        while (System.nanoTime() < end) {
            org.apache.hadoop.security.token.Token<?> token = client.getAMRMToken(id);
            if (token != null) {
                return token;
            }
            if (over.contains(client.getApplicationReport(id).getYarnApplicationState())) {
                throw new IOException(id + ": " + client.getApplicationReport(id).getDiagnostics());
            }
            Thread.sleep(20);
        }
        throw new IOException(id + ": no token for its master after 60 s");
    }

    private void register() throws IOException, YarnException {
        master.registerApplicationMaster(RegisterApplicationMasterRequest.newInstance("localhost", -1, ""));
        responseId = 0;
        registered = true;
    }

    synchronized int ask(int n, Resource size, String host, String rack, String label, boolean relax,
            ExecutionType type, String command, String url) {
        int priority = nextPriority++;
        Order order = new Order(size, host, rack, label, relax, type, command, url, n);
        orders.put(priority, order);
        send(priority, order);
        return priority;
    }

    private void send(int priority, Order o) {
        if (!o.host.isEmpty()) {
            unsent.add(request(priority, o, o.host, true));
            unsent.add(request(priority, o, o.rack, o.relax));
        }
        unsent.add(request(priority, o, ResourceRequest.ANY, o.host.isEmpty() || o.relax));
    }

    private static ResourceRequest request(int priority, Order o, String where, boolean relax) {
        ResourceRequest r = ResourceRequest.newInstance(Priority.newInstance(priority), where, o.size, o.pending,
                relax);
        if (!o.label.isEmpty() && where.equals(ResourceRequest.ANY)) {
            r.setNodeLabelExpression(o.label);
        }
        r.setExecutionTypeRequest(ExecutionTypeRequest.newInstance(o.type, true));
        return r;
    }

    /** Releases n containers, drawn with the seed. host: only containers on this host; empty: any. */
    synchronized int release(int n, long seed, String host) {
        List<ContainerId> choice = new ArrayList<>();
        for (Container c : held.values()) {
            if (host.isEmpty() || c.getNodeId().getHost().equals(host)) {
                choice.add(c.getId());
            }
        }
        Collections.sort(choice);
        Collections.shuffle(choice, new Random(seed));
        List<ContainerId> chosen = choice.subList(0, Math.min(n, choice.size()));
        toRelease.addAll(chosen);
        chosen.forEach(held::remove);
        return chosen.size();
    }

    synchronized void beat() throws IOException, YarnException {
        if (finished) {
            return;
        }
        if (!registered) {
            register();
        }
        List<ResourceRequest> asks = new ArrayList<>(unsent);
        List<ContainerId> releases = new ArrayList<>(toRelease);
        List<UpdateContainerRequest> updates = new ArrayList<>(toUpdate);
        AllocateResponse answer;
        try {
            AllocateRequest request = AllocateRequest.newInstance(responseId, 0, asks, releases, null);
            request.setUpdateRequests(updates);
            answer = master.allocate(request);
        } catch (ApplicationMasterNotRegisteredException e) {
            restarted();
            return;
        }
        responseId = answer.getResponseId();
        unsent.removeAll(asks);
        toRelease.removeAll(releases);
        toUpdate.removeAll(updates);
        answer.getNMTokens().forEach(nodes::addToken);
        answer.getAllocatedContainers().forEach(this::granted);
        answer.getUpdatedContainers().forEach(u -> updated(u.getContainer()));
        answer.getUpdateErrors().forEach(e -> ends.put(e.getUpdateContainerRequest().getContainerId(), e.getReason()));
        for (ContainerStatus s : answer.getCompletedContainersStatuses()) {
            lost += held.remove(s.getContainerId()) == null ? 0 : 1;
            ends.put(s.getContainerId(), s.getExitStatus() + " " + s.getDiagnostics());
        }
    }

    private void updated(Container c) {
        if (held.replace(c.getId(), c) != null) {
            of(c, () -> nodes.update(c));
        }
    }

    private interface NodeCall {
        void run() throws IOException, YarnException;
    }

    private void of(Container c, NodeCall call) {
        try {
            call.run();
        } catch (IOException | YarnException e) {
            ends.put(c.getId(), e.toString());
        }
    }

    /** Changes a container's size or type, after the ResourceManager and then the node have agreed. */
    synchronized void update(ContainerId id, ContainerUpdateType what, Resource size, ExecutionType type) {
        Container c = one(id);
        toUpdate.add(UpdateContainerRequest.newInstance(c.getVersion(), id, what, size, type));
    }

    synchronized void again(ContainerId id, String operation, String command, String file, boolean commit)
            throws IOException, YarnException {
        nodes.again(one(id), operation, command, file, commit);
    }

    synchronized void stop(ContainerId id) throws IOException, YarnException {
        nodes.stop(one(id));
    }

    /** Returns the container's state as its node reports it. */
    synchronized String state(ContainerId id) throws IOException, YarnException {
        ContainerStatus s = nodes.status(one(id));
        return String.format("{\"state\":\"%s\",\"sub_state\":\"%s\",\"type\":\"%s\",\"mb\":%d,\"exit\":%d,"
                + "\"diagnostics\":\"%s\"}",
                s.getState(), s.getContainerSubState(), s.getExecutionType(), s.getCapability().getMemorySize(),
                s.getExitStatus(), s.getDiagnostics().replaceAll("[\"\\\\\\p{Cntrl}]+", " "));
    }

    private Container one(ContainerId id) {
        Container c = held.get(id);
        if (c == null) {
            throw new IllegalArgumentException("the application doesn't hold " + id);
        }
        return c;
    }

    /** Returns the held containers, and the ended ones with their diagnostics. */
    synchronized String containers() {
        List<String> all = new ArrayList<>();
        held.forEach((id, c) -> all.add(String.format("{\"id\":\"%s\",\"node\":\"%s\",\"type\":\"%s\",\"mb\":%d}", id,
                c.getNodeId(), c.getExecutionType(), c.getResource().getMemorySize())));
        ends.forEach((id, end) -> all.add(String.format("{\"id\":\"%s\",\"end\":\"%s\"}", id,
                end.replaceAll("[\"\\\\\\p{Cntrl}]+", " "))));
        return String.join(",\n", all);
    }

    /** Repeats all requests, because a restarted ResourceManager doesn't know them. */
    private void restarted() {
        registered = false;
        unsent.clear();
        orders.forEach((priority, order) -> {
            if (order.pending > 0) {
                send(priority, order);
            }
        });
    }

    private void granted(Container c) {
        Order order = orders.get(c.getPriority().getPriority());
        if (order == null || order.pending == 0) {
            toRelease.add(c.getId());
            return;
        }
        order.pending--;
        held.put(c.getId(), c);
        if (order.command.isEmpty()) {
            cluster.start(c);
        } else {
            of(c, () -> nodes.start(c, order.command, order.url));
        }
    }

    /** Cancels all pending requests. */
    synchronized void cancel() {
        orders.forEach((priority, order) -> {
            if (order.pending > 0) {
                order.pending = 0;
                send(priority, order);
            }
        });
    }

    synchronized void finish() throws IOException, YarnException {
        master.finishApplicationMaster(
                FinishApplicationMasterRequest.newInstance(FinalApplicationStatus.SUCCEEDED, "", ""));
        finished = true;
        held.clear();
        orders.clear();
    }

    synchronized int pending() {
        return orders.values().stream().mapToInt(o -> o.pending).sum();
    }

    synchronized int held() {
        return held.size();
    }

    synchronized boolean nothingUnsent() {
        return unsent.isEmpty() && toRelease.isEmpty();
    }

    synchronized String toJson() {
        return String.format("{\"id\":\"%s\",\"queue\":\"%s\",\"held\":%d,\"pending\":%d,\"lost\":%d,\"finished\":%b}",
                id, queue, held.size(), pending(), lost, finished);
    }
}
