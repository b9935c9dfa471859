// SPDX-License-Identifier: Apache-2.0

import java.io.File;
import java.util.List;

import org.apache.spark.network.TransportContext;
import org.apache.spark.network.server.TransportServer;
import org.apache.spark.network.shuffle.ExternalBlockHandler;
import org.apache.spark.network.util.MapConfigProvider;
import org.apache.spark.network.util.TransportConf;

/**
 * Spark's own shuffle service with its default settings, put together as in YarnShuffleService, for run. Argument: the
 * file for the registered executors, as with recovery of the NodeManager. Prints the port, and exits at the end of its
 * input.
 */
public final class SparkServer {
    public static void main(String[] arguments) throws Exception {
        TransportConf conf = new TransportConf("shuffle", MapConfigProvider.EMPTY);
        ExternalBlockHandler handler = new ExternalBlockHandler(conf, new File(arguments[0]));
        try (TransportContext context = new TransportContext(conf, handler, true);
                TransportServer server = context.createServer("127.0.0.1", 0, List.of())) {
            System.out.printf("{\"listening\": %d}%n", server.getPort());
            while (System.in.read() >= 0) {
                continue;
            }
        }
        System.exit(0);
    }
}
