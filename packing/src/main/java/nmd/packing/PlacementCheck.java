// SPDX-License-Identifier: Apache-2.0
package nmd.packing;

import java.util.HashSet;
import java.util.Set;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacitySchedulerConfiguration;

/**
 * Refuses configurations in which a queue has no usable policy. With multi-node placement, the scheduler tries the
 * nodes of a queue in the order of the queue's policy. If the queue has no policy, or a policy that isn't registered,
 * the scheduler tries only one node. All containers of the queue are then placed on this node. Containers for which the
 * node has no room wait forever. The scheduler only logs a warning for each look-up.
 *
 * <p>The policy of a queue is set by the queue's own key. If this key is missing, the key for all queues applies. The
 * key of a parent queue doesn't apply to its children.
 */
final class PlacementCheck {
    private static final String PREFIX = CapacitySchedulerConfiguration.PREFIX;
    private static final String POLICY = "multi-node-sorting.policy";
    static final String NAMES = CapacitySchedulerConfiguration.MULTI_NODE_SORTING_POLICIES;
    static final String FOR_ALL = CapacitySchedulerConfiguration.MULTI_NODE_SORTING_POLICY_NAME;
    static final String ENABLED = CapacitySchedulerConfiguration.MULTI_NODE_PLACEMENT_ENABLED;
    /**
     * Keys of parent queues that create child queues automatically, each with the prefix of the template for these
     * children. There are two kinds of automatic creation.
     */
    private static final String[][] CREATION_KINDS = {
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
        new PlacementCheck(conf).checkQueue("root");
    }

    /** Returns the class names of the registered policies. The scheduler makes an object of each of these classes. */
    static Set<String> registered(Configuration conf) {
        Set<String> classes = new HashSet<>();
        for (String name : conf.getTrimmedStrings(NAMES)) {
            String preset = name.equals(CapacitySchedulerConfiguration.DEFAULT_NODE_SORTING_POLICY)
                    ? CapacitySchedulerConfiguration.DEFAULT_NODE_SORTING_POLICY_CLASSNAME : "";
            classes.add(conf.getTrimmed(PackingSettings.PREFIX + name + ".class", preset));
        }
        return classes;
    }

    private void checkQueue(String path) {
        boolean parent = false;
        for (String child : conf.getTrimmedStrings(PREFIX + path + ".queues")) {
            parent = true;
            checkQueue(path + "." + child);
        }
        for (String[] kind : CREATION_KINDS) {
            if (conf.getBoolean(PREFIX + path + "." + kind[0], false)) {
                parent = true;
                checkTemplate(path, kind);
            }
        }
        if (!parent) {
            checkPolicy("queue " + path, PREFIX + path + "." + POLICY, null);
        }
    }

    /**
     * Checks the template for automatically created queues. Templates of grandparents with wildcards are not supported.
     * A configuration with such templates must also set the key for all queues.
     */
    private void checkTemplate(String path, String[] kind) {
        String first = PREFIX + path + "." + kind[1] + POLICY;
        checkPolicy("a queue that is created automatically below " + path, first,
                kind.length > 2 ? PREFIX + path + "." + kind[2] + POLICY : null);
    }

    private void checkPolicy(String who, String ownKey, String nextKey) {
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
                    + "\", but " + NAMES + " (\"" + conf.getTrimmed(NAMES, "")
                    + "\") doesn't contain it. Add it there.");
        }
    }
}
