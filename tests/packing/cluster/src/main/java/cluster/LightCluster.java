// SPDX-License-Identifier: Apache-2.0
package cluster;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerUpdateType;
import org.apache.hadoop.yarn.api.records.ExecutionType;
import org.apache.hadoop.yarn.api.records.NodeId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.client.api.YarnClient;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.api.ResourceTracker;
import org.apache.hadoop.yarn.server.api.ServerRMProxy;

/**
 * Light nodes and applications for a real ResourceManager, driven over HTTP on loopback. Each request is a GET with its
 * arguments in the query; errors are 400 or 500 with a sentence. Conditions are polled.
 *
 * <pre>
 *   /node?name=&amp;mb=&amp;vcores=&amp;label=   makes a node; for an existing one: healthy=, containers_mb=, node_mb=,
 *                                   containers_cpu=, node_cpu= change its reports
 *   /nodes                          lists all nodes and their containers
 *   /ask?n=&amp;mb=&amp;vcores=&amp;queue=&amp;app=&amp;label=&amp;host=&amp;strict=    requests containers
 *       type=OPPORTUNISTIC; cmd=: a command for the shell, on real nodes; url=: a resource, as the file "it"
 *   /containers?queue=&amp;app=         lists held containers, and the ends of others
 *   /state?container=&amp;queue=&amp;app=   state of a running container on its node
 *   /end?container=&amp;queue=&amp;app=     requests its end from its node
 *   /restart?container=, /reinit?container=&amp;cmd=&amp;file=&amp;commit, /rollback?container=, /commit?container=,
 *   /localize?container=&amp;file=   requests of services to its node; file: a file's full path
 *   /update?container=&amp;mb=&amp;type=&amp;queue=&amp;app=    changes its size or type
 *   /release?n=&amp;seed=&amp;queue=&amp;app=&amp;host=   releases containers, drawn with the seed
 *   /cancel?queue=&amp;app=             cancels pending requests
 *   /settle?seconds=&amp;pending=       waits until this number is pending and nodes have the rest
 *   /stop?node= /revive?node=       stops the node; restarts it with an empty state
 *   /apps /finish?queue=&amp;app=       lists applications; finishes one
 * </pre>
 */
public final class LightCluster {
    private static final int FIRST_PORT = 20_000;

    private final YarnConfiguration conf = new YarnConfiguration();
    private final Map<String, LightNode> nodes = new ConcurrentSkipListMap<>();
    private final Map<String, LightApp> apps = new ConcurrentSkipListMap<>();
    private final ScheduledExecutorService beats = Executors.newScheduledThreadPool(4);
    private final ResourceTracker tracker;
    private final YarnClient client = YarnClient.createYarnClient();
    private final long period;

    private LightCluster() throws IOException {
        period = conf.getLong(YarnConfiguration.RM_NM_HEARTBEAT_INTERVAL_MS, 1000);
        tracker = ServerRMProxy.createRMProxy(conf, ResourceTracker.class);
        client.init(conf);
        client.start();
    }

    /** Arguments: the file that gets the port as soon as requests are answered. */
    public static void main(String[] args) throws Exception {
        LightCluster cluster = new LightCluster();
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 50);
        server.setExecutor(Executors.newCachedThreadPool());
        server.createContext("/", cluster::answer);
        server.start();
        // A process that waits for the file must not read a half of it.
        Path part = Path.of(args[0] + ".part");
        Files.writeString(part, server.getAddress().getPort() + "\n");
        Files.move(part, Path.of(args[0]), StandardCopyOption.ATOMIC_MOVE);
    }

    private void answer(HttpExchange exchange) throws IOException {
        String text;
        int code = 200;
        try {
            text = route(exchange.getRequestURI().getPath(), new Query(exchange.getRequestURI().getRawQuery()));
        } catch (IllegalArgumentException e) {
            code = 400;
            text = e.getMessage();
        } catch (Exception e) {
            code = 500;
            text = e.toString();
        }
        byte[] bytes = (text + "\n").getBytes(StandardCharsets.UTF_8);
        exchange.sendResponseHeaders(code, bytes.length);
        exchange.getResponseBody().write(bytes);
        exchange.close();
    }

    private String route(String path, Query q) throws Exception {
        switch (path) {
            case "/node":
                return node(q).toJson();
            case "/nodes":
                return list(nodes.values().stream().map(LightNode::toJson).collect(Collectors.joining(",\n")));
            case "/apps":
                return list(apps.values().stream().map(LightApp::toJson).collect(Collectors.joining(",\n")));
            case "/ask":
                return ask(q);
            case "/release":
                return "{\"released\":" + app(q).release(q.number("n", 1), q.number("seed", 1), q.text("host", ""))
                        + "}";
            case "/containers":
                return list(app(q).containers());
            case "/state":
                return app(q).state(ContainerId.fromString(q.text("container", "")));
            case "/end":
                app(q).stop(ContainerId.fromString(q.text("container", "")));
                return "{}";
            case "/restart":
            case "/reinit":
            case "/rollback":
            case "/commit":
            case "/localize":
                app(q).again(ContainerId.fromString(q.text("container", "")), path.substring(1), q.text("cmd", ""),
                        q.text("file", ""), q.has("commit"));
                return "{}";
            case "/update":
                update(app(q), q);
                return "{}";
            case "/cancel":
                app(q).cancel();
                return "{}";
            case "/settle":
                return settle(q);
            case "/stop":
                known(q.text("node", "")).die();
                return "{}";
            case "/revive":
                known(q.text("node", "")).revive();
                return "{}";
            case "/finish":
                app(q).finish();
                apps.remove(appKey(q));
                return "{}";
            default:
                throw new IllegalArgumentException("there is no " + path);
        }
    }

    private static String list(String items) {
        return "[" + items + "]";
    }

    private LightNode known(String name) {
        LightNode node = nodes.get(name);
        if (node == null) {
            throw new IllegalArgumentException("there is no node '" + name + "'");
        }
        return node;
    }

    private LightNode node(Query q) {
        LightNode node = nodes.computeIfAbsent(q.text("name", ""), name -> add(name, q));
        if (q.has("healthy")) {
            node.setHealthy(Boolean.parseBoolean(q.text("healthy", "")));
        }
        if (q.has("containers_mb") || q.has("containers_cpu")) {
            node.setContainersUse(q.number("containers_mb", -1), q.fraction("containers_cpu"));
        }
        if (q.has("node_mb") || q.has("node_cpu")) {
            node.setNodeUse(q.number("node_mb", -1), q.fraction("node_cpu"));
        }
        return node;
    }

    private LightNode add(String name, Query q) {
        Resource size = Resource.newInstance(q.number("mb", 10240), q.number("vcores", 10));
        LightNode node = new LightNode(NodeId.newInstance(name, q.number("port", FIRST_PORT)), size,
                q.text("label", ""), tracker);
        // Nodes don't send heartbeats at the same time.
        repeat(node::beat, nodes.size() * 7L % period);
        return node;
    }

    private interface Step {
        void run() throws Exception;
    }

    private void repeat(Step step, long delay) {
        beats.scheduleWithFixedDelay(() -> {
            try {
                step.run();
            } catch (Exception e) {
                // The ResourceManager may be down for a while, as for real nodes: the next heartbeat tries again.
                System.err.println("beat: " + e);
            }
        }, delay, period, TimeUnit.MILLISECONDS);
    }

    private static String appKey(Query q) {
        return q.text("queue", "default") + "/" + q.text("app", "");
    }

    private LightApp app(Query q) throws Exception {
        LightApp app = apps.get(appKey(q));
        if (app == null) {
            app = new LightApp(this, client, conf, q.text("queue", "default"));
            apps.put(appKey(q), app);
            repeat(app::beat, 0);
        }
        return app;
    }

    /** The size of a container. Only a cluster whose resource-types.xml has GPUs can count them. */
    private static Resource size(Query q) {
        Resource size = Resource.newInstance(q.number("mb", 1024), q.number("vcores", 1));
        if (q.has("gpus")) {
            size.setResourceValue("yarn.io/gpu", q.number("gpus", 0));
        }
        return size;
    }

    private String ask(Query q) throws Exception {
        LightApp app = app(q);
        int priority = app.ask(q.number("n", 1), size(q),
                q.text("host", ""), q.text("rack", "/default-rack"), q.text("label", ""), !q.has("strict"),
                ExecutionType.valueOf(q.text("type", "GUARANTEED")), q.text("cmd", ""), q.text("url", ""));
        return String.format("{\"app\":\"%s\",\"priority\":%d}", app.id, priority);
    }

    private static void update(LightApp app, Query q) {
        ContainerId id = ContainerId.fromString(q.text("container", ""));
        if (q.has("type")) {
            ExecutionType type = ExecutionType.valueOf(q.text("type", ""));
            app.update(id, type == ExecutionType.GUARANTEED ? ContainerUpdateType.PROMOTE_EXECUTION_TYPE
                    : ContainerUpdateType.DEMOTE_EXECUTION_TYPE, null, type);
        } else {
            app.update(id, q.has("less") ? ContainerUpdateType.DECREASE_RESOURCE
                    : ContainerUpdateType.INCREASE_RESOURCE, size(q), null);
        }
    }

    /** Starts a container that an application was granted. */
    void start(Container container) {
        LightNode node = nodes.get(container.getNodeId().getHost());
        if (node != null) {
            node.start(container);
        }
    }

    private String settle(Query q) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(q.number("seconds", 30));
        int pending = q.number("pending", 0);
        while (!settled(pending)) {
            if (System.nanoTime() > end) {
                throw new IllegalArgumentException("not settled: "
                        + apps.values().stream().map(LightApp::toJson).collect(Collectors.joining(" ")));
            }
            Thread.sleep(10);
        }
        return "{\"settled\":true}";
    }

    /**
     * Returns whether the applications' containers are those that the nodes run, and the nodes have reported all ends.
     */
    private boolean settled(int pending) {
        int waiting = apps.values().stream().mapToInt(LightApp::pending).sum();
        int held = apps.values().stream().mapToInt(LightApp::held).sum();
        int running = nodes.values().stream().mapToInt(LightNode::running).sum();
        return waiting == pending && held == running && apps.values().stream().allMatch(LightApp::nothingUnsent)
                && nodes.values().stream().allMatch(LightNode::allReported);
    }

    /** The arguments of one request. */
    private static final class Query {
        private final Map<String, String> values = new TreeMap<>();

        Query(String text) {
            if (text != null && !text.isEmpty()) {
                for (String pair : text.split("&")) {
                    int at = pair.indexOf('=');
                    values.put(at < 0 ? pair : pair.substring(0, at), at < 0 ? ""
                            : URLDecoder.decode(pair.substring(at + 1), StandardCharsets.UTF_8));
                }
            }
        }

        boolean has(String key) {
            return values.containsKey(key);
        }

        String text(String key, String preset) {
            return values.getOrDefault(key, preset);
        }

        int number(String key, int preset) {
            try {
                return has(key) ? Integer.parseInt(values.get(key)) : preset;
            } catch (NumberFormatException e) {
                throw new IllegalArgumentException(key + " is '" + values.get(key) + "', and must be a whole number",
                        e);
            }
        }

        float fraction(String key) {
            try {
                return has(key) ? Float.parseFloat(values.get(key)) : -1;
            } catch (NumberFormatException e) {
                throw new IllegalArgumentException(key + " is '" + values.get(key) + "', and must be a number", e);
            }
        }
    }
}
