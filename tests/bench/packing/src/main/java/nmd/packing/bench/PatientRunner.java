// SPDX-License-Identifier: Apache-2.0
package nmd.packing.bench;

import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.sls.SLSRunner;
import org.apache.hadoop.yarn.sls.appmaster.AMSimulator;

/**
 * Waits until the simulator knows a job. The simulator submits a job first and registers it afterwards. On a busy
 * machine the ResourceManager may launch the job's master in between, and fails if it finds no job.
 */
final class PatientRunner extends SLSRunner {
    private static final long WAIT_NANOS = TimeUnit.SECONDS.toNanos(10);

    PatientRunner(Configuration conf) throws Exception {
        super(conf);
    }

    @Override
    public AMSimulator getAMSimulatorByAppId(ApplicationId id) {
        long begun = System.nanoTime();
        AMSimulator found = super.getAMSimulatorByAppId(id);
        while (found == null && System.nanoTime() - begun < WAIT_NANOS) {
            Thread.yield();
            found = super.getAMSimulatorByAppId(id);
        }
        return found;
    }
}
