// SPDX-License-Identifier: Apache-2.0
package nmd.packing;

import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.conf.ConfigurationProvider;
import org.apache.hadoop.yarn.conf.ConfigurationProviderFactory;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacitySchedulerConfiguration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Reads and checks what is needed before the first look-up: the scheduler's configuration, the name that it gives to
 * this policy, and the policy's settings.
 */
final class PolicySetup {
    private static final Logger LOG = LoggerFactory.getLogger(PolicySetup.class);

    private PolicySetup() {
    }

    static PackingSettings load(String className) {
        try {
            Configuration conf = schedulerConfiguration();
            PackingSettings settings = PackingSettings.read(conf, nameOf(conf, className));
            if (readsTheFile(conf)) {
                PlacementCheck.everyQueueHasPolicy(conf);
            }
            return settings;
        } catch (PackingException e) {
            throw refusal(e);
        }
    }

    /**
     * Refuses a start in which a queue's key names this class, but the list of policies lacks it. The scheduler then
     * loads the class, but never makes an object of it that could refuse.
     */
    static void refuseUnregistered(String className) {
        try {
            Configuration conf = schedulerConfiguration();
            if (conf.getBoolean(PlacementCheck.ENABLED, false) && readsTheFile(conf)
                    && !PlacementCheck.registered(conf).contains(className)) {
                PlacementCheck.everyQueueHasPolicy(conf);
            }
        } catch (PackingException e) {
            throw refusal(e);
        }
    }

    /** Logs the sentence alone, since Hadoop's own message is a stack of wrapped exceptions. */
    private static PackingException refusal(PackingException e) {
        LOG.error("The ResourceManager can't start: {}", e.getMessage());
        return e;
    }

    /**
     * Returns whether queues are configured in a file. A store in leveldb or ZooKeeper can't be read here, because only
     * the scheduler may use it.
     */
    private static boolean readsTheFile(Configuration conf) {
        String store = conf.getTrimmed(YarnConfiguration.SCHEDULER_CONFIGURATION_STORE_CLASS,
                YarnConfiguration.FILE_CONFIGURATION_STORE);
        if (store.equals(YarnConfiguration.FILE_CONFIGURATION_STORE)) {
            return true;
        }
        LOG.warn("{} is \"{}\": the policy reads its settings from {}, and can't check whether each queue has a policy."
                + " Set {} there and in the store.", YarnConfiguration.SCHEDULER_CONFIGURATION_STORE_CLASS,
                store, YarnConfiguration.CS_CONFIGURATION_FILE, PlacementCheck.FOR_ALL);
        return false;
    }

    /**
     * Reads the scheduler's configuration as the scheduler does: through the provider that yarn-site.xml names, by
     * default from the class path.
     */
    static Configuration schedulerConfiguration() {
        try {
            return read(new YarnConfiguration());
        } catch (Exception e) {
            throw new PackingException(YarnConfiguration.CS_CONFIGURATION_FILE + " can't be read: " + e.getMessage(),
                    e);
        }
    }

    // A provider's methods declare Exception.
    private static Configuration read(YarnConfiguration conf) throws Exception {
        ConfigurationProvider provider = ConfigurationProviderFactory.getConfigurationProvider(conf);
        provider.init(conf);
        try (InputStream stream = provider.getConfigurationInputStream(conf, YarnConfiguration.CS_CONFIGURATION_FILE)) {
            if (stream == null) {
                return new CapacitySchedulerConfiguration(conf, true);
            }
            conf.addResource(stream);
            conf.size(); // makes conf read the stream while it is open
            return new CapacitySchedulerConfiguration(conf, false);
        } finally {
            provider.close();
        }
    }

    /**
     * Returns the policy's name. The scheduler identifies a policy's object by its class, not by its name. With two
     * names it would make two objects and use either one by chance, so only one name is allowed.
     */
    static String nameOf(Configuration conf, String className) {
        List<String> names = new ArrayList<>();
        for (String name : conf.getTrimmedStrings(CapacitySchedulerConfiguration.MULTI_NODE_SORTING_POLICIES)) {
            if (className.equals(conf.getTrimmed(PackingSettings.PREFIX + name + ".class"))) {
                names.add(name);
            }
        }
        if (names.size() == 1) {
            return names.get(0);
        }
        throw new PackingException(CapacitySchedulerConfiguration.MULTI_NODE_SORTING_POLICIES + " must have one name"
                + " whose class is " + className + "; it has " + (names.isEmpty() ? "none" : String.join(", ", names))
                + ".");
    }
}
