// SPDX-License-Identifier: Apache-2.0
package nmd.packing.bench;

import java.util.ArrayDeque;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.tools.rumen.JobStory;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ResourceRequest;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;
import org.apache.hadoop.yarn.sls.AMDefinition;
import org.apache.hadoop.yarn.sls.SLSRunner;
import org.apache.hadoop.yarn.sls.appmaster.AMSimulator;
import org.apache.hadoop.yarn.sls.appmaster.MRAMSimulator;
import org.apache.hadoop.yarn.sls.scheduler.ContainerSimulator;
import org.apache.hadoop.yarn.sls.synthetic.SynthTraceJobProducer;

/**
 * A job of the simulator with two corrections.
 *
 * <p>Its data is in an object store, as on elastic clusters, so its containers may run on any node. The simulator gives
 * each task of a synthetic job a preferred node and rack, and the same ones in each job, because its random numbers
 * begin anew with each job. These preferences, and not the policy, would then pack the nodes.
 *
 * <p>It begins at the time in the trace. Hadoop 3.4.2 counts the time of each synthetic job from that job's own start,
 * so all jobs would begin at 0.
 */
public class AnywhereJob extends MRAMSimulator {
    private static final Queue<Long> SUBMISSIONS = new ArrayDeque<>();

    private int number;

    /**
     * Reads the times of the jobs, in the order in which the simulator makes them: the same seed gives the same jobs.
     *
     * <p>A trace has whole seconds, and nodes and jobs send heartbeats at whole fractions of a second. Requests would
     * come at the same moments of each second, and the nodes with the next heartbeats would get all of them. With 1,000
     * nodes, the stock scheduler then used as few nodes as packing. So each job begins at a random time of its second.
     */
    static int readSubmissions(Configuration conf, String trace) throws Exception {
        SynthTraceJobProducer producer = new SynthTraceJobProducer(conf, new Path(trace));
        Random millis = new Random(producer.getSeed());
        for (JobStory job = producer.getNextJob(); job != null; job = producer.getNextJob()) {
            SUBMISSIONS.add(job.getSubmissionTime() + millis.nextInt(1000));
        }
        return SUBMISSIONS.size();
    }

    @Override
    public void init(AMDefinition definition, ResourceManager rm, SLSRunner runner, boolean tracked, long baseline,
            long heartbeatInterval, Map<ApplicationId, AMSimulator> simulators) {
        super.init(definition, rm, runner, tracked, baseline, heartbeatInterval, simulators);
        number = SUBMISSIONS.size();
        long start = SUBMISSIONS.remove();
        init(start, start + 1000000L * heartbeatInterval, heartbeatInterval);
    }

    /**
     * Returns the job's number, which is the same in every run of a trace, whatever the order in which the
     * ResourceManager gets the jobs.
     */
    int number() {
        return number;
    }

    @Override
    protected List<ResourceRequest> packageRequests(List<ContainerSimulator> containers, int priority) {
        return super.packageRequests(containers, priority).stream()
                .filter(request -> ResourceRequest.ANY.equals(request.getResourceName()))
                .collect(Collectors.toList());
    }
}
