// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedReader;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;

import org.apache.hadoop.fs.Path;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.nodemanager.ContainerExecutor;
import org.apache.hadoop.yarn.server.nodemanager.DefaultContainerExecutor;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.launcher.ContainerLaunch;

/**
 * Writes a launch script as the NodeManager does, to the file that is the first argument. The second argument is the
 * log directory. Standard input has the launch context: lines "inherit NAME", "node NAME VALUE", "asked NAME VALUE",
 * "link TARGET NAME" and "command WORDS". The inherited variables come from this process's own environment.
 */
public final class Launch {
    public static void main(String[] arguments) throws Exception {
        Path logs = new Path(arguments[1]);
        Map<String, String> environment = new LinkedHashMap<>();
        Map<String, String> node = new LinkedHashMap<>();
        Map<Path, List<String>> links = new HashMap<>();
        List<String> inherited = new ArrayList<>();
        List<String> command = new ArrayList<>();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ", 3);
            switch (words[0]) {
                case "inherit" -> inherited.add(words[1]);
                case "node" -> node.put(words[1], words[2]);
                case "asked" -> environment.put(words[1], ContainerLaunch.expandEnvironment(words[2], logs));
                case "link" -> links.computeIfAbsent(new Path(words[1]), path -> new ArrayList<>()).add(words[2]);
                case "command" -> command.add(ContainerLaunch.expandEnvironment(line.split(" ", 2)[1], logs));
                default -> throw new IllegalArgumentException(line);
            }
        }
        environment.putAll(node);
        YarnConfiguration conf = new YarnConfiguration();
        conf.set(YarnConfiguration.NM_ENV_WHITELIST, String.join(",", inherited));
        ContainerExecutor executor = new DefaultContainerExecutor();
        executor.setConf(conf);
        try (FileOutputStream out = new FileOutputStream(arguments[0])) {
            executor.writeLaunchEnv(out, environment, links, command, logs, "user", new LinkedHashSet<>(node.keySet()));
        }
    }
}
