// SPDX-License-Identifier: Apache-2.0
package nmd.packing;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.apache.hadoop.conf.Configuration;

/**
 * The settings, with ranges and defaults. The object is immutable. An invalid value is an error, and is not replaced by
 * a default.
 */
final class PackingSettings {
    static final String PREFIX = "yarn.scheduler.capacity.multi-node-sorting.policy.";

    static final String HIGH_THRESHOLD = "high-threshold";
    static final String MIN_NODES = "min-nodes";
    static final String RESOURCE = "resource";
    static final String MEASURED = "measured";
    static final String MEASURED_THRESHOLD = "measured-threshold";
    static final List<String> OWN_KEYS = Arrays.asList(HIGH_THRESHOLD, MIN_NODES, RESOURCE, MEASURED,
            MEASURED_THRESHOLD);
    /** The keys that may follow the policy's name. Two of these keys belong to the scheduler. */
    static final List<String> KEYS = Stream.concat(Stream.of("class", "sorting-interval.ms"), OWN_KEYS.stream())
            .collect(Collectors.toList());

    /** The resource from which a node's fraction is computed. */
    enum Resource { MEMORY, DOMINANT }

    /**
     * The measured use that counts in addition to the allocation. A node reports two measurements: the use of all its
     * containers, and the use of the whole node.
     */
    enum Measured {
        OFF(false, false), CONTAINERS(true, false), NODE(false, true), BOTH(true, true);

        final boolean containers;
        final boolean node;

        Measured(boolean containers, boolean node) {
            this.containers = containers;
            this.node = node;
        }
    }

    final double highThreshold;
    final int minNodes;
    final Resource resource;
    final Measured measured;
    final double measuredThreshold;

    private PackingSettings(int highPercent, int minNodes, Resource resource, Measured measured, int measuredPercent) {
        // A percentage divided by 100 and a use of the same fraction give the same double, so the comparison with the
        // threshold is exact.
        this.highThreshold = highPercent / 100.0;
        this.minNodes = minNodes;
        this.resource = resource;
        this.measured = measured;
        this.measuredThreshold = measuredPercent / 100.0;
    }

    /** Reads the keys of the policy with the name {@code name} in the scheduler's configuration. */
    static PackingSettings read(Configuration conf, String name) {
        String prefix = PREFIX + name + ".";
        refuseUnknown(conf, prefix);
        return new PackingSettings(
                number(conf, prefix + HIGH_THRESHOLD, 60, 1, 100, "percent of a node"),
                number(conf, prefix + MIN_NODES, 5, 0, 1_000_000, "nodes"),
                word(conf, prefix + RESOURCE, Resource.MEMORY, Resource.values()),
                word(conf, prefix + MEASURED, Measured.BOTH, Measured.values()),
                number(conf, prefix + MEASURED_THRESHOLD, 80, 1, 100, "percent of a node"));
    }

    /** Refuses unknown keys. If a misspelt key were ignored, the default would apply without a warning. */
    private static void refuseUnknown(Configuration conf, String prefix) {
        Map<String, String> given = conf.getPropsWithPrefix(prefix);
        for (String key : new TreeSet<>(given.keySet())) {
            if (!KEYS.contains(key)) {
                throw new PackingException(prefix + key + ": unknown key. Known keys after \"" + prefix
                        + "\": " + String.join(", ", KEYS) + ".");
            }
        }
    }

    private static int number(Configuration conf, String key, int preset, int least, int most, String unit) {
        String text = conf.getTrimmed(key);
        if (text == null) {
            return preset;
        }
        try {
            int value = Integer.parseInt(text);
            if (value >= least && value <= most) {
                return value;
            }
        } catch (NumberFormatException e) {
            // the code below reports this in the same way as a number that is out of range
        }
        throw new PackingException(key + " is \"" + text + "\", but must be a whole number from " + least + " to "
                + most + " (" + unit + "; default: " + preset + ").");
    }

    private static <E extends Enum<E>> E word(Configuration conf, String key, E preset, E[] allowed) {
        String text = conf.getTrimmed(key);
        if (text == null) {
            return preset;
        }
        StringBuilder words = new StringBuilder();
        for (E value : allowed) {
            if (lower(value).equals(text)) {
                return value;
            }
            words.append(words.length() == 0 ? "" : ", ").append(lower(value));
        }
        throw new PackingException(key + " is \"" + text + "\", but must be one of: " + words + " (default: "
                + lower(preset) + ").");
    }

    private static String lower(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT);
    }

    @Override
    public String toString() {
        return HIGH_THRESHOLD + " " + Math.round(highThreshold * 100) + " %, " + MIN_NODES + " " + minNodes + ", "
                + RESOURCE + " " + lower(resource) + ", " + MEASURED + " " + lower(measured) + ", "
                + MEASURED_THRESHOLD + " " + Math.round(measuredThreshold * 100) + " %";
    }
}
