// SPDX-License-Identifier: Apache-2.0
package nmd.packing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;

class PackingSettingsTest {
    private static final String KEY = "yarn.scheduler.capacity.multi-node-sorting.policy.pack.";

    private static String refusal(String key, String value) {
        Configuration conf = new Configuration(false);
        conf.set(KEY + key, value);
        return assertThrows(PackingException.class, () -> PackingSettings.read(conf, "pack")).getMessage();
    }

    @Test
    void theDefaultsApplyWithoutKeys() {
        PackingSettings s = PackingSettings.read(new Configuration(false), "pack");
        assertEquals("high-threshold 60 %, min-nodes 5, resource memory, measured both, measured-threshold 80 %",
                s.toString());
        assertEquals(0.6, s.highThreshold);
    }

    @Test
    void everyKeyIsRead() {
        assertEquals("high-threshold 85 %, min-nodes 12, resource dominant, measured node, measured-threshold 90 %",
                NodeOrderTest.settings("high-threshold", " 85 ", "min-nodes", "12", "resource", "dominant", "measured",
                        "node", "measured-threshold", "90", "class", "any", "sorting-interval.ms", "0").toString());
    }

    @Test
    void theLimitsOfTheRangesAreAllowed() {
        for (String[] pair : new String[][] {{"high-threshold", "1"}, {"high-threshold", "100"}, {"min-nodes", "0"},
                {"min-nodes", "1000000"}, {"measured-threshold", "1"}, {"measured-threshold", "100"}}) {
            NodeOrderTest.settings(pair);
        }
    }

    @Test
    void aNumberOutOfRangeIsRefusedWithTheAllowedRange() {
        assertEquals(KEY + "high-threshold is \"101\", but must be a whole number from 1 to 100 (percent of a node;"
                + " default: 60).", refusal("high-threshold", "101"));
        for (String bad : new String[] {"0", "-1", "60%", "0.6", "", "sixty", "99999999999"}) {
            assertEquals(KEY + "high-threshold is \"" + bad + "\", but must be a whole number from 1 to 100 (percent"
                    + " of a node; default: 60).", refusal("high-threshold", bad));
        }
        assertEquals(KEY + "min-nodes is \"-1\", but must be a whole number from 0 to 1000000 (nodes;"
                + " default: 5).", refusal("min-nodes", "-1"));
        assertEquals(KEY + "measured-threshold is \"0\", but must be a whole number from 1 to 100 (percent of a"
                + " node; default: 80).", refusal("measured-threshold", "0"));
    }

    @Test
    void anUnknownWordIsRefusedWithTheAllowedWords() {
        assertEquals(KEY + "resource is \"cpu\", but must be one of: memory, dominant (default: memory).",
                refusal("resource", "cpu"));
        assertEquals(KEY + "measured is \"yes\", but must be one of: off, containers, node, both (default: both).",
                refusal("measured", "yes"));
    }

    @Test
    void aMisspeltKeyIsRefused() {
        assertEquals(KEY + "treshold: unknown key. Known keys after \"" + KEY
                + "\": class, sorting-interval.ms, high-threshold, min-nodes, resource, measured,"
                + " measured-threshold.", refusal("treshold", "80"));
    }

    @Test
    void theKeysOfOtherPoliciesAreIgnored() {
        Configuration conf = new Configuration(false);
        conf.set("yarn.scheduler.capacity.multi-node-sorting.policy.other.treshold", "80");
        conf.set("yarn.scheduler.capacity.multi-node-sorting.policy.other.high-threshold", "80");
        assertEquals(0.6, PackingSettings.read(conf, "pack").highThreshold);
    }
}
