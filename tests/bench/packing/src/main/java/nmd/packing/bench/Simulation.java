// SPDX-License-Identifier: Apache-2.0
package nmd.packing.bench;

import java.io.PrintStream;
import java.nio.file.Paths;
import java.util.Collections;
import java.util.StringJoiner;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.resourcemanager.rmapp.RMApp;
import org.apache.hadoop.yarn.sls.SLSRunner;

/**
 * One run of the simulator: TRACE OUTPUT-DIRECTORY SECONDS. Its configuration is on the class path. The results are in
 * OUTPUT-DIRECTORY/result.json.
 */
public final class Simulation {
    private static final long LOOK_MILLIS = 50;
    /** The fraction of the run after which calls are timed. */
    private static final double WARM_UP = 0.2;

    private Simulation() {
    }

    public static void main(String[] args) throws Exception {
        if (args.length != 3) {
            System.err.println("usage: Simulation TRACE OUTPUT-DIRECTORY SECONDS");
            System.exit(2);
        }
        int status = 1;
        try {
            status = run(args[0], args[1], Long.parseLong(args[2]) * 1000);
        } catch (Throwable failure) {
            failure.printStackTrace();
        }
        // Threads of the simulator that aren't daemons would prevent the end of the process.
        Runtime.getRuntime().halt(status);
    }

    private static int run(String trace, String output, long dayMillis) throws Exception {
        YarnConfiguration conf = new YarnConfiguration();
        int jobs = AnywhereJob.readSubmissions(conf, trace);
        SLSRunner runner = new PatientRunner(conf);
        runner.setSimulationParams(SLSRunner.TraceType.SYNTH, new String[] {trace}, "", output, Collections.emptySet(),
                false);
        runner.start();
        long begun = System.nanoTime();
        NodeWatch watch = new NodeWatch(dayMillis);
        WatchedScheduler scheduler = WatchedScheduler.running;
        long now = 0;
        while (now < dayMillis || ended(scheduler) < jobs) {
            if (now > 3 * dayMillis) {
                System.err.printf("%d of %d jobs have ended after three days%n", ended(scheduler), jobs);
                return 1;
            }
            TimeUnit.MILLISECONDS.sleep(LOOK_MILLIS);
            now = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun);
            WatchedScheduler.counting = now > WARM_UP * dayMillis && now < dayMillis;
            watch.look(scheduler.getNodeTracker().getAllNodes(), now);
        }
        write(output, runner, watch);
        return 0;
    }

    private static long ended(WatchedScheduler scheduler) {
        return scheduler.getRMContext().getRMApps().values().stream()
                .filter(app -> app.getFinishTime() > 0).count();
    }

    private static void write(String output, SLSRunner runner, NodeWatch watch) throws Exception {
        StringJoiner jobs = new StringJoiner(", ", "[", "]");
        for (RMApp app : WatchedScheduler.running.getRMContext().getRMApps().values()) {
            AnywhereJob job = (AnywhereJob) runner.getAMSimulatorByAppId(app.getApplicationId());
            jobs.add("[" + job.number() + ", " + (app.getFinishTime() - app.getSubmitTime()) + "]");
        }
        try (PrintStream out = new PrintStream(Paths.get(output, "result.json").toFile(), "UTF-8")) {
            out.printf("{%s,%n\"allocate\": %s,%n\"heartbeat\": %s,%n\"jobs\": %s}%n", watch.toJson(),
                    WatchedScheduler.ALLOCATE.toJson(), WatchedScheduler.HEARTBEAT.toJson(), jobs);
        }
    }
}
