// SPDX-License-Identifier: Apache-2.0
package nmd.packing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;

import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;

/** Checks that the documentation and the examples agree with the code. */
class DocumentedTest {
    /** Returns a file of the project. Maven passes the project's directory. */
    private static Path file(String name) {
        return Paths.get(System.getProperty("basedir", "."), name);
    }

    private static Configuration example() {
        Configuration conf = new Configuration(false);
        conf.addResource(new org.apache.hadoop.fs.Path(file("capacity-scheduler.xml.example").toUri()));
        return conf;
    }

    @Test
    void theExampleHasEveryKeyWithItsDefault() {
        assertEquals(PackingSettings.read(new Configuration(false), "pack").toString(),
                PackingSettings.read(example(), "pack").toString());
        for (String key : PackingSettings.OWN_KEYS) {
            assertTrue(example().get(PackingSettings.PREFIX + "pack." + key) != null, key);
        }
    }

    @Test
    void theExampleIsAccepted() {
        Configuration conf = example();
        conf.set("yarn.scheduler.capacity.root.queues", "default");
        PlacementCheck.everyQueueHasPolicy(conf);
        assertTrue(conf.getBoolean(PlacementCheck.ENABLED, false));
        assertEquals("pack", PolicySetup.nameOf(conf, PackingPolicy.class.getName()));
    }

    @Test
    void theManualHasEveryKey() throws Exception {
        String manual = new String(Files.readAllBytes(file("nmd-packing.7")), StandardCharsets.UTF_8);
        for (String key : PackingSettings.KEYS) {
            assertTrue(manual.contains(".TP\n.B " + key + "\n"), key);
        }
        assertTrue(manual.contains("Default: 60. Allowed: 1 to 100.")
                && manual.contains("Default: 5. Allowed: 0 to 1000000.")
                && manual.contains("Default: 80. Allowed: 1 to 100."));
    }
}
