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
 * Reads and checks the data that is needed before the first look-up: the scheduler's configuration, the name of this
 * policy in it, and the policy's settings.
 */
final class PolicySetup {
    private static final Logger LOG = LoggerFactory.getLogger(PolicySetup.class);

    private PolicySetup() {
    }

    static PackingSettings load(String className) {
        try {
            return load(schedulerConfiguration(), className);
        } catch (PackingException e) {
            throw refusal(e);
        }
    }

    static PackingSettings load(Configuration conf, String className) {
        PackingSettings settings = PackingSettings.read(conf, nameOf(conf, className));
        if (readsTheFile(conf)) {
            PlacementCheck.everyQueueHasPolicy(conf);
        }
        return settings;
    }

    /**
     * Refuses to start if the key of a queue names this class, but the list of policies doesn't contain it. In this
     * case the scheduler loads the class, but makes no object of it, so the constructor can't check the configuration.
     */
    static void refuseUnregistered(String className) {
        try {
            refuseUnregistered(schedulerConfiguration(), className);
        } catch (PackingException e) {
            throw refusal(e);
        }
    }

    /** Checks the list first: if it contains the class, {@link #load} will log the warning of readsTheFile. */
    static void refuseUnregistered(Configuration conf, String className) {
        if (conf.getBoolean(PlacementCheck.ENABLED, false) && !PlacementCheck.registered(conf).contains(className)
                && readsTheFile(conf)) {
            PlacementCheck.everyQueueHasPolicy(conf);
        }
    }

    /** Logs the exception's message alone, since Hadoop logs a chain of nested exceptions. Returns the exception. */
    private static PackingException refusal(PackingException e) {
        LOG.error("The ResourceManager can't start: {}", e.getMessage());
        return e;
    }

    /**
     * Returns whether a file contains the configuration of the queues. Otherwise logs a warning. A store in leveldb or
     * ZooKeeper can't be read here, because only the scheduler may open it.
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
     * Reads the scheduler's configuration in the same way as the scheduler: through the provider that yarn-site.xml
     * names. The default provider reads it from the class path.
     */
    static Configuration schedulerConfiguration() {
        try {
            return read(new YarnConfiguration());
        } catch (Exception e) {
            throw new PackingException(YarnConfiguration.CS_CONFIGURATION_FILE + " can't be read: " + e.getMessage(),
                    e);
        }
    }

    // The methods of a provider declare Exception.
    private static Configuration read(YarnConfiguration conf) throws Exception {
        ConfigurationProvider provider = ConfigurationProviderFactory.getConfigurationProvider(conf);
        provider.init(conf);
        try (InputStream stream = provider.getConfigurationInputStream(conf, YarnConfiguration.CS_CONFIGURATION_FILE)) {
            if (stream == null) {
                return new CapacitySchedulerConfiguration(conf, true);
            }
            conf.addResource(stream);
            conf.size(); // makes conf read the stream before the stream is closed
            return new CapacitySchedulerConfiguration(conf, false);
        } finally {
            provider.close();
        }
    }

    /**
     * Returns the policy's name in the scheduler's configuration. The scheduler identifies the object of a policy by
     * its class and not by its name. If the class had two names, the scheduler would make two objects and use either of
     * them, so only one name is allowed.
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
