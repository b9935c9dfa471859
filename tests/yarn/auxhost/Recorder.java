// SPDX-License-Identifier: Apache-2.0
package test.auxhost;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.yarn.server.api.ApplicationInitializationContext;
import org.apache.hadoop.yarn.server.api.ApplicationTerminationContext;
import org.apache.hadoop.yarn.server.api.AuxiliaryService;
import org.apache.hadoop.yarn.server.api.ContainerInitializationContext;
import org.apache.hadoop.yarn.server.api.ContainerTerminationContext;

/**
 * An auxiliary service that records what it learns, in the file "record" of its recovery directory. Each start records
 * the text of the class Label, which has another text in each class path, and the loader of this class. If the recovery
 * directory has a file "eat", the next container makes the service use more memory than its process may have.
 */
public class Recorder extends AuxiliaryService {
    /** Services in remote class paths need classes of their own: Hadoop keeps one copy for the name of a class. */
    public static class FromFile extends Recorder {
    }

    /** See FromFile. */
    public static class FromHdfs extends Recorder {
    }

    private final List<byte[]> eaten = new ArrayList<>();

    public Recorder() {
        super("recorder");
    }

    private File file(String name) {
        return new File(getRecoveryPath().toUri().getPath(), name);
    }

    private synchronized void record(String line) {
        try (FileOutputStream out = new FileOutputStream(file("record"), true)) {
            out.write((line + "\n").getBytes(StandardCharsets.UTF_8));
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    protected void serviceStart() throws Exception {
        record("start " + Label.text() + " " + getClass().getClassLoader().getClass().getSimpleName() + " "
            + Thread.currentThread().getContextClassLoader().getClass().getSimpleName());
        super.serviceStart();
    }

    @Override
    public void initializeApplication(ApplicationInitializationContext c) {
        record("application " + c.getApplicationId() + " " + c.getUser() + " "
            + c.getApplicationDataForService().remaining());
    }

    @Override
    public void stopApplication(ApplicationTerminationContext c) {
        record("end " + c.getApplicationId());
    }

    @Override
    public void initializeContainer(ContainerInitializationContext c) {
        record("begin " + c.getContainerId() + " " + c.getUser() + " " + c.getResource().getMemorySize() + " "
            + c.getContainerType());
        if (file("eat").delete()) {
            while (true) {
                eaten.add(new byte[1 << 20]);
            }
        }
    }

    @Override
    public void stopContainer(ContainerTerminationContext c) {
        record("over " + c.getContainerId());
    }

    @Override
    public ByteBuffer getMetaData() {
        return ByteBuffer.wrap(Label.text().getBytes(StandardCharsets.UTF_8));
    }
}
