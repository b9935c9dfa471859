// SPDX-License-Identifier: Apache-2.0
package cluster;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.Container;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.ContainerLaunchContext;
import org.apache.hadoop.yarn.api.records.ContainerStatus;
import org.apache.hadoop.yarn.api.records.LocalResource;
import org.apache.hadoop.yarn.api.records.LocalResourceType;
import org.apache.hadoop.yarn.api.records.LocalResourceVisibility;
import org.apache.hadoop.yarn.api.records.NMToken;
import org.apache.hadoop.yarn.api.records.URL;
import org.apache.hadoop.yarn.client.api.NMClient;
import org.apache.hadoop.yarn.client.api.NMTokenCache;
import org.apache.hadoop.yarn.exceptions.YarnException;

/** Requests of an application to nodes that aren't light ones, with Hadoop's own client and its tokens. */
final class RealNodes {
    private final NMTokenCache tokens = new NMTokenCache();
    private final NMClient client = NMClient.createNMClient();

    RealNodes(Configuration conf) {
        client.setNMTokenCache(tokens);
        client.cleanupRunningContainersOnStop(false);
        client.init(conf);
        client.start();
    }

    void addToken(NMToken token) {
        tokens.setToken(token.getNodeId().toString(), token.getToken());
    }

    /** Runs a shell's command, beside a file "it" that the node fetches if there is a URL. */
    void start(Container container, String command, String url) throws IOException, YarnException {
        Map<String, LocalResource> resources = new HashMap<>();
        if (!url.isEmpty()) {
            resources.put("it", LocalResource.newInstance(URL.fromURI(URI.create(url)), LocalResourceType.FILE,
                    LocalResourceVisibility.PRIVATE, -1, 0));
        }
        client.startContainer(container, shell(command, resources));
    }

    void stop(Container container) throws IOException, YarnException {
        client.stopContainer(container.getId(), container.getNodeId());
    }

    private static ContainerLaunchContext shell(String command, Map<String, LocalResource> files) {
        return ContainerLaunchContext.newInstance(files, new HashMap<>(),
                Collections.singletonList("{ " + command + "; } 1><LOG_DIR>/stdout 2><LOG_DIR>/stderr"), null, null,
                null);
    }

    /** Returns a file of the host as a resource for this application only. */
    private static Map<String, LocalResource> files(String path) throws IOException {
        if (path.isEmpty()) {
            return Collections.emptyMap();
        }
        Path file = Path.of(path);
        URL url = URL.newInstance("file", null, -1, path);
        long size = Files.exists(file) ? Files.size(file) : 1;
        long time = Files.exists(file) ? Files.getLastModifiedTime(file).toMillis() : 1;
        return Collections.singletonMap(file.getFileName().toString(), LocalResource.newInstance(url,
                LocalResourceType.FILE, LocalResourceVisibility.APPLICATION, size, time));
    }

    /**
     * Makes a request of YARN's services for a running container: restart, reinit (with a command, and perhaps a file),
     * rollback, commit, localize (a file).
     */
    void again(Container container, String operation, String command, String file, boolean commit)
            throws IOException, YarnException {
        ContainerId id = container.getId();
        switch (operation) {
            case "restart":
                client.restartContainer(id);
                break;
            case "reinit":
                client.reInitializeContainer(id, shell(command, files(file)), commit);
                break;
            case "rollback":
                client.rollbackLastReInitialization(id);
                break;
            case "commit":
                client.commitLastReInitialization(id);
                break;
            default:
                client.localize(id, container.getNodeId(), files(file));
        }
    }

    /** Updates the container with its new token, which contains the new size and type. */
    void update(Container container) throws IOException, YarnException {
        client.updateContainerResource(container);
    }

    ContainerStatus status(Container container) throws IOException, YarnException {
        return client.getContainerStatus(container.getId(), container.getNodeId());
    }
}
