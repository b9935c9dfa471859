// SPDX-License-Identifier: Apache-2.0
package nmd.packing;

import java.util.HashSet;
import java.util.Set;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacitySchedulerConfiguration;

/**
 * With multi-node placement the scheduler tries the nodes of a queue in the order of the queue's policy; where the
 * queue has none, or one that isn't registered, it tries one node only: all containers go there, and what doesn't fit
 * waits for ever. It logs a warning for each look-up, and goes on. So such a configuration is refused before it starts.
 *
 * <p>A queue's policy is the one of its own key, or else the one of the key for all queues: a parent's key says nothing
 * for its children.
 */
final class PlacementCheck {
    private static final String PREFIX = CapacitySchedulerConfiguration.PREFIX;
    private static final String POLICY = "multi-node-sorting.policy";
    static final String NAMES = CapacitySchedulerConfiguration.MULTI_NODE_SORTING_POLICIES;
    static final String FOR_ALL = CapacitySchedulerConfiguration.MULTI_NODE_SORTING_POLICY_NAME;
    static final String ENABLED = CapacitySchedulerConfiguration.MULTI_NODE_PLACEMENT_ENABLED;
    /** Where a parent that makes queues of its own accord says what they get: of the first and of the second kind. */
    private static final String[][] MADE = {
            {"auto-create-child-queue.enabled", "leaf-queue-template."},
            {"auto-queue-creation-v2.enabled", "auto-queue-creation-v2.leaf-template.",
                    "auto-queue-creation-v2.template."},
    };

    private final Configuration conf;
    private final Set<String> registered;

    private PlacementCheck(Configuration conf) {
        this.conf = conf;
        this.registered = registered(conf);
    }

    static void everyQueueHasPolicy(Configuration conf) {
        new PlacementCheck(conf).queue("root");
    }

    /** The classes that the scheduler makes objects of. */
    static Set<String> registered(Configuration conf) {
        Set<String> classes = new HashSet<>();
        for (String name : conf.getTrimmedStrings(NAMES)) {
            String preset = name.equals(CapacitySchedulerConfiguration.DEFAULT_NODE_SORTING_POLICY)
                    ? CapacitySchedulerConfiguration.DEFAULT_NODE_SORTING_POLICY_CLASSNAME : "";
            classes.add(conf.getTrimmed(PackingSettings.PREFIX + name + ".class", preset));
        }
        return classes;
    }

    private void queue(String path) {
        boolean parent = false;
        for (String child : conf.getTrimmedStrings(PREFIX + path + ".queues")) {
            parent = true;
            queue(path + "." + child);
        }
        for (String[] kind : MADE) {
            if (conf.getBoolean(PREFIX + path + "." + kind[0], false)) {
                parent = true;
                madeBy(path, kind);
            }
        }
        if (!parent) {
            policy("queue " + path, PREFIX + path + "." + POLICY, null);
        }
    }

    /**
     * Templates of grandparents, with wildcards, are not followed: who needs them sets the key for all queues too, and
     * is safe.
     */
    private void madeBy(String path, String[] kind) {
        String first = PREFIX + path + "." + kind[1] + POLICY;
        policy("a queue that " + path + " makes by itself", first,
                kind.length > 2 ? PREFIX + path + "." + kind[2] + POLICY : null);
    }

    private void policy(String who, String ownKey, String nextKey) {
        String key = conf.get(ownKey) != null ? ownKey
                : nextKey != null && conf.get(nextKey) != null ? nextKey : FOR_ALL;
        String name = conf.getTrimmed(key, "");
        if (name.isEmpty()) {
            String why = conf.get(key) == null ? "neither " + ownKey + " nor " + FOR_ALL + " names a policy"
                    : key + " is empty";
            throw new PackingException("All containers of " + who + " would go to one node: " + ENABLED
                    + " is true, and " + why + ". Set " + FOR_ALL + " to the name of a policy, for all queues.");
        }
        String preset = name.equals(CapacitySchedulerConfiguration.DEFAULT_NODE_SORTING_POLICY)
                ? CapacitySchedulerConfiguration.DEFAULT_NODE_SORTING_POLICY_CLASSNAME : "";
        if (!registered.contains(conf.getTrimmed(PackingSettings.PREFIX + name + ".class", preset))) {
            throw new PackingException("All containers of " + who + " would go to one node: " + key + " is \"" + name
                    + "\", and " + NAMES + " (\"" + conf.getTrimmed(NAMES, "") + "\") doesn't have it. Add it there.");
        }
    }
}
