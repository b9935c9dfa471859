// SPDX-License-Identifier: Apache-2.0
package nmd.packing;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.log4j.AppenderSkeleton;
import org.apache.log4j.Level;
import org.apache.log4j.Logger;
import org.apache.log4j.spi.LoggingEvent;
import org.junit.jupiter.api.Test;

class PolicySetupTest {
    private static final String OURS = PackingPolicy.class.getName();

    /** Collects the warnings of PolicySetup. */
    private static final class Warnings extends AppenderSkeleton {
        private final List<String> texts = new ArrayList<>();

        @Override
        protected void append(LoggingEvent event) {
            if (event.getLevel().equals(Level.WARN)) {
                texts.add(event.getRenderedMessage());
            }
        }

        @Override
        public void close() {
        }

        @Override
        public boolean requiresLayout() {
            return false;
        }
    }

    /** Returns the number of warnings at a start whose queues are in leveldb. */
    private static int warningsAtStart(String names, boolean makesObject) {
        Configuration conf = new Configuration(false);
        conf.set(PlacementCheck.ENABLED, "true");
        conf.set(PlacementCheck.NAMES, names);
        conf.set(PackingSettings.PREFIX + "pack.class", OURS);
        conf.set(YarnConfiguration.SCHEDULER_CONFIGURATION_STORE_CLASS, YarnConfiguration.LEVELDB_CONFIGURATION_STORE);
        Logger log = Logger.getLogger(PolicySetup.class);
        Warnings warnings = new Warnings();
        log.addAppender(warnings);
        try {
            PolicySetup.refuseUnregistered(conf, OURS);
            if (makesObject) {
                PolicySetup.load(conf, OURS);
            }
        } finally {
            log.removeAppender(warnings);
        }
        return warnings.texts.size();
    }

    @Test
    void aStoreThatCannotBeReadIsReportedOnceAtEachStart() {
        assertEquals(1, warningsAtStart("pack", true));
        assertEquals(1, warningsAtStart("default", false));
    }
}
