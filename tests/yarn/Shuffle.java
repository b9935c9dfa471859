// SPDX-License-Identifier: Apache-2.0

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URL;
import java.security.MessageDigest;
import java.util.List;
import java.util.Random;

import javax.crypto.SecretKey;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.DataOutputBuffer;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.WritableUtils;
import org.apache.hadoop.mapred.IndexRecord;
import org.apache.hadoop.mapred.ShuffleHandler;
import org.apache.hadoop.mapred.SpillRecord;
import org.apache.hadoop.mapreduce.security.SecureShuffleUtils;
import org.apache.hadoop.mapreduce.security.token.JobTokenIdentifier;
import org.apache.hadoop.mapreduce.security.token.JobTokenSecretManager;
import org.apache.hadoop.mapreduce.task.reduce.ShuffleHeader;
import org.apache.hadoop.security.token.Token;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.server.api.ApplicationInitializationContext;
import org.apache.hadoop.yarn.server.api.AuxiliaryLocalPathHandler;

/**
 * Hadoop's own code of the shuffle: writes map outputs with its SpillRecord, serves them with its ShuffleHandler, and
 * fetches them from any server as its Fetcher does. Arguments: two local directories, the user. Prints the handler's
 * port, and then the result of each request, which is a line "PORT KEY TARGET".
 */
public final class Shuffle {
    private static final long CLUSTER = 1410901177871L;
    private static final int[][] PARTS = {{5, 0, 3_000_000}, {0, 0, 0}, {70_000, 1, 128}};

    /** The NodeManager's part: the paths of the local directories. */
    private record Directories(List<String> locals) implements AuxiliaryLocalPathHandler {
        @Override
        public Path getLocalPathForRead(String path) throws IOException {
            for (String local : locals) {
                if (new File(local, path).exists()) {
                    return new Path(local, path);
                }
            }
            throw new IOException("No local directory has " + path);
        }

        @Override
        public Path getLocalPathForWrite(String path) {
            return new Path(locals.get(0), path);
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

    private static SecretKey key(String letters) {
        return JobTokenSecretManager.createSecretKey(letters.getBytes());
    }

    /** Writes the indexes of all maps but the first into another directory than their data, once into each. */
    private static void writeOutputs(List<String> locals, String user) throws IOException {
        Random random = new Random(1);
        for (int map = 0; map < PARTS.length; map++) {
            String path = String.format("usercache/%s/appcache/application_%d_0001/output/attempt_%d_0001_m_%06d_0",
                    user, CLUSTER, CLUSTER, map);
            File dir = new File(locals.get(map / 2), path);
            File indexDir = new File(locals.get(map % 2), path);
            dir.mkdirs();
            indexDir.mkdirs();
            SpillRecord index = new SpillRecord(PARTS[map].length);
            long start = 0;
            try (OutputStream out = new FileOutputStream(new File(dir, "file.out"))) {
                for (int reduce = 0; reduce < PARTS[map].length; reduce++) {
                    byte[] part = new byte[PARTS[map][reduce]];
                    random.nextBytes(part);
                    out.write(part);
                    index.putIndex(new IndexRecord(start, 4L * part.length, part.length), reduce);
                    start += part.length;
                }
            }
            index.writeToFile(new Path(indexDir.getPath(), "file.out.index"), new org.apache.hadoop.mapred.JobConf());
        }
    }

    private static int serve(List<String> locals, String user, String letters) throws Exception {
        Configuration conf = new Configuration();
        conf.set("yarn.nodemanager.local-dirs", String.join(",", locals));
        conf.setInt(ShuffleHandler.SHUFFLE_PORT_CONFIG_KEY, 0);
        ShuffleHandler handler = new ShuffleHandler();
        handler.setAuxiliaryLocalPathHandler(new Directories(locals));
        handler.init(conf);
        handler.start();
        JobTokenIdentifier job = new JobTokenIdentifier(new Text("job_" + CLUSTER + "_0001"));
        Token<JobTokenIdentifier> token = new Token<>(job.getBytes(), letters.getBytes(), job.getKind(),
                job.getJobId());
        DataOutputBuffer secret = new DataOutputBuffer();
        token.write(secret);
        handler.initializeApplication(new ApplicationInitializationContext(user, ApplicationId.newInstance(CLUSTER, 1),
                java.nio.ByteBuffer.wrap(secret.getData(), 0, secret.getLength())));
        return ShuffleHandler.deserializeMetaData(handler.getMetaData());
    }

    private static String sha(byte[] bytes, int from, int size) throws Exception {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        digest.update(bytes, from, size);
        return String.format("%064x", new java.math.BigInteger(1, digest.digest())).substring(0, 12);
    }

    /**
     * Prints the answer to a range, which has the format of Tez' handler: a count, and all headers of a map before its
     * parts.
     */
    private static void printMaps(byte[] body, boolean isRange) throws Exception {
        DataInputStream in = new DataInputStream(new ByteArrayInputStream(body));
        while (in.available() > 0) {
            String[] headers = new String[isRange ? WritableUtils.readVInt(in) : 1];
            int[] sizes = new int[headers.length];
            for (int i = 0; i < headers.length; i++) {
                // The same as ShuffleHeader.readFields(), which doesn't give access to its values.
                String map = Text.readString(in);
                sizes[i] = (int) WritableUtils.readVLong(in);
                long raw = WritableUtils.readVLong(in);
                int reduce = WritableUtils.readVInt(in);
                headers[i] = String.format("%s reduce %d raw %d part %d", map, reduce, raw, sizes[i]);
            }
            for (int i = 0; i < headers.length; i++) {
                System.out.printf("%s %s%n", headers[i], sha(body, body.length - in.available(), sizes[i]));
                in.skipBytes(sizes[i]);
            }
        }
    }

    /** Does the same as Fetcher: signs the target, and refuses a reply whose signature is wrong. */
    private static void fetch(int port, SecretKey key, String target) throws Exception {
        URL url = new URL("http://localhost:" + port + target);
        HttpURLConnection connection = (HttpURLConnection) url.openConnection();
        String hash = SecureShuffleUtils.hashFromString(SecureShuffleUtils.buildMsgFrom(url), key);
        connection.addRequestProperty(SecureShuffleUtils.HTTP_HEADER_URL_HASH, hash);
        connection.addRequestProperty(ShuffleHeader.HTTP_HEADER_NAME, ShuffleHeader.DEFAULT_HTTP_HEADER_NAME);
        connection.addRequestProperty(ShuffleHeader.HTTP_HEADER_VERSION, ShuffleHeader.DEFAULT_HTTP_HEADER_VERSION);
        int status = connection.getResponseCode();
        System.out.printf("%d name %s version %s%n", status, connection.getHeaderField("name"),
                connection.getHeaderField("version"));
        if (status == HttpURLConnection.HTTP_OK) {
            String reply = connection.getHeaderField(SecureShuffleUtils.HTTP_HEADER_REPLY_URL_HASH);
            SecureShuffleUtils.verifyReply(reply, hash, key);
            byte[] body = connection.getInputStream().readAllBytes();
            System.out.printf("length %s of %d %s%n", connection.getHeaderField("Content-Length"), body.length,
                    sha(body, 0, body.length));
            printMaps(body, target.matches(".*[?&]reduce=\\d+-.*"));
        }
    }

    public static void main(String[] arguments) throws Exception {
        List<String> locals = List.of(arguments[0], arguments[1]);
        writeOutputs(locals, arguments[2]);
        System.out.println(serve(locals, arguments[2], "8letters"));
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            try {
                fetch(Integer.parseInt(words[0]), key(words[1]), words[2]);
            } catch (IOException e) {
                System.out.println(e);
            }
            System.out.println(".");
        }
        System.exit(0);
    }
}
