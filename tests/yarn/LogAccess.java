// SPDX-License-Identifier: Apache-2.0

import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.logaggregation.filecontroller.LogAggregationFileController;
import org.apache.hadoop.yarn.logaggregation.filecontroller.LogAggregationFileControllerFactory;

/** Prints the owner and the access lists of a file of aggregated logs: {@code java LogAccess.java APPLICATION FILE}. */
public final class LogAccess {
    private LogAccess() {
    }

    public static void main(String[] arguments) throws Exception {
        Configuration conf = new YarnConfiguration();
        ApplicationId application = ApplicationId.fromString(arguments[0]);
        Path file = new Path("file:" + arguments[1]);
        LogAggregationFileController reader =
                new LogAggregationFileControllerFactory(conf).getFileControllerForWrite();
        StringBuilder line = new StringBuilder(reader.getApplicationOwner(file, application));
        for (Map.Entry<?, String> list : new TreeMap<>(reader.getApplicationAcls(file, application)).entrySet()) {
            line.append(' ').append(list.getKey()).append('=').append(list.getValue().trim());
        }
        System.out.println(line);
    }
}
