// SPDX-License-Identifier: Apache-2.0

import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.DataOutputBuffer;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapred.ShuffleHandler;
import org.apache.hadoop.mapreduce.security.token.JobTokenIdentifier;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.server.api.ApplicationInitializationContext;
import org.apache.hadoop.yarn.server.api.AuxiliaryLocalPathHandler;

/**
 * Hadoop's own ShuffleHandler with its default settings, for bench.sh. Arguments: the local directory, the number of
 * jobs. Prints the port, and exits at the end of its input.
 */
public final class ShuffleServer {
    private record Directory(String local) implements AuxiliaryLocalPathHandler {
        @Override
        public Path getLocalPathForRead(String path) throws IOException {
            if (!new File(local, path).exists()) {
                throw new IOException(local + " does not have " + path);
            }
            return new Path(local, path);
        }

        @Override
        public Path getLocalPathForWrite(String path) {
            return new Path(local, path);
        }

        @Override
        public Path getLocalPathForWrite(String path, long size) {
            return getLocalPathForWrite(path);
        }

        @Override
        public Iterable<Path> getAllLocalPathsForRead(String path) throws IOException {
            return List.of(getLocalPathForRead(path));
        }
    }

    private static void addJob(ShuffleHandler handler, int number) throws IOException {
        JobTokenIdentifier job = new JobTokenIdentifier(new Text(String.format("job_1_%04d", number)));
        Token<JobTokenIdentifier> token = new Token<>(job.getBytes(), "8letters".getBytes(), job.getKind(),
                job.getJobId());
        DataOutputBuffer secret = new DataOutputBuffer();
        token.write(secret);
        handler.initializeApplication(new ApplicationInitializationContext("bench",
                ApplicationId.newInstance(1, number), ByteBuffer.wrap(secret.getData(), 0, secret.getLength())));
    }

    public static void main(String[] arguments) throws Exception {
        Configuration conf = new Configuration();
        conf.set("yarn.nodemanager.local-dirs", arguments[0]);
        conf.setInt(ShuffleHandler.SHUFFLE_PORT_CONFIG_KEY, 0);
        ShuffleHandler handler = new ShuffleHandler();
        handler.setAuxiliaryLocalPathHandler(new Directory(arguments[0]));
        handler.init(conf);
        handler.start();
        for (int number = 1; number <= Integer.parseInt(arguments[1]); number++) {
            addJob(handler, number);
        }
        System.out.printf("{\"listening\": %d}%n", ShuffleHandler.deserializeMetaData(handler.getMetaData()));
        while (System.in.read() >= 0) {
            continue;
        }
        System.exit(0);
    }
}
