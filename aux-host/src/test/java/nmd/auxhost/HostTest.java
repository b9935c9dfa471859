// SPDX-License-Identifier: Apache-2.0
package nmd.auxhost;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.api.ApplicationInitializationContext;
import org.apache.hadoop.yarn.server.api.ApplicationTerminationContext;
import org.apache.hadoop.yarn.server.api.AuxiliaryService;
import org.apache.hadoop.yarn.server.api.ContainerInitializationContext;
import org.apache.hadoop.yarn.server.api.ContainerTerminationContext;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class HostTest {
    private static final String APPLICATION = "application_1700000000000_0001";
    private static final String CONTAINER = "container_e17_1700000000000_0001_01_000002";

    /** What the service below has been told. */
    private static final List<String> TOLD = new ArrayList<>();

    /** A service that remembers what it is told. */
    public static class Remembering extends AuxiliaryService {
        public Remembering() {
            super("remembering");
        }

        @Override
        protected void serviceStart() throws Exception {
            TOLD.add("start " + getRecoveryPath().getName() + " " + getConfig().get("some.setting"));
            String path = getAuxiliaryLocalPathHandler().getLocalPathForRead("usercache/f").toUri().getPath();
            TOLD.add("path " + new File(path).exists());
            super.serviceStart();
        }

        @Override
        public void initializeApplication(ApplicationInitializationContext c) {
            TOLD.add("init " + c.getUser() + " " + c.getApplicationId() + " "
                + StandardCharsets.UTF_8.decode(c.getApplicationDataForService()));
        }

        @Override
        public void stopApplication(ApplicationTerminationContext c) {
            TOLD.add("stop " + c.getApplicationId());
        }

        @Override
        public void initializeContainer(ContainerInitializationContext c) {
            TOLD.add("begin " + c.getUser() + " " + c.getContainerId() + " " + c.getResource().getMemorySize() + " "
                + c.getResource().getVirtualCores() + " " + c.getContainerType());
        }

        @Override
        public void stopContainer(ContainerTerminationContext c) {
            TOLD.add("end " + c.getContainerId() + " " + c.getContainerType());
            throw new IllegalStateException("not a reason to stop");
        }

        @Override
        public ByteBuffer getMetaData() {
            return ByteBuffer.wrap(new byte[] {0, 10, (byte) 0xff});
        }
    }

    /** A service that needs its local directories. It is loaded by a class path of its own, and can't use TOLD. */
    public static class Apart extends AuxiliaryService {
        public Apart() {
            super("apart");
        }

        @Override
        protected void serviceStart() throws Exception {
            String path = getAuxiliaryLocalPathHandler().getLocalPathForRead("usercache/f").toUri().getPath();
            Files.write(new File(getRecoveryPath().toUri().getPath(), "found").toPath(),
                (new File(path).exists() + " " + getClass().getClassLoader().getClass().getSimpleName())
                    .getBytes(StandardCharsets.UTF_8));
            super.serviceStart();
        }

        @Override
        public void initializeApplication(ApplicationInitializationContext c) {
        }

        @Override
        public void stopApplication(ApplicationTerminationContext c) {
        }

        @Override
        public ByteBuffer getMetaData() {
            return null;
        }
    }

    @TempDir
    Path dir;

    @BeforeEach
    void makeDirectories() throws IOException {
        TOLD.clear();
        for (String name : new String[] {"local/0/usercache", "log", "recovery", "tmp"}) {
            Files.createDirectories(dir.resolve(name));
        }
        Files.createFile(dir.resolve("local/0/usercache/f"));
    }

    private HostedServices services(String className) throws ReflectiveOperationException {
        Configuration conf = new YarnConfiguration();
        conf.set("yarn.nodemanager.aux-services.remembering.class", className);
        conf.set("some.setting", "x");
        return new HostedServices(conf, dir.toFile(), 1, Collections.singletonList("remembering"));
    }

    private static List<String> converse(HostedServices services, String... lines) throws IOException {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        byte[] in = String.join("\n", lines).getBytes(StandardCharsets.UTF_8);
        new Control(new ByteArrayInputStream(in), out).serve(services);
        return new ArrayList<>(java.util.Arrays.asList(out.toString("UTF-8").split("\n")));
    }

    @Test
    void aServiceIsToldEverything() throws Exception {
        String container = "{\"container\": \"" + CONTAINER + "\", \"user\": \"alice\", \"memory_mb\": 512, "
            + "\"vcores\": 2, \"master\": true}";
        try (HostedServices services = services(Remembering.class.getName())) {
            List<String> answers = converse(services, "{\"container_init\": " + container + "}",
                "{\"application_init\": {\"application\": \"" + APPLICATION + "\", \"user\": \"alice\", \"service\": "
                    + "\"remembering\", \"data\": \"6b6579\"}}",
                "{\"container_stop\": " + container + "}",
                "{\"application_stop\": {\"application\": \"" + APPLICATION + "\"}}");
            assertEquals(java.util.Arrays.asList("{\"ok\":{}}", "{\"ok\":{}}", "{\"ok\":{}}",
                "{\"stopped\":\"" + APPLICATION + "\"}"), answers);
        }
        assertEquals(java.util.Arrays.asList("start remembering x", "path true",
            "begin alice " + CONTAINER + " 512 2 APPLICATION_MASTER", "init alice " + APPLICATION + " key",
            "end " + CONTAINER + " APPLICATION_MASTER", "stop " + APPLICATION), TOLD);
    }

    @Test
    void metadataIsSentBeforeTheServicesAreReady() throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (HostedServices services = services(Remembering.class.getName())) {
            new Control(new ByteArrayInputStream(new byte[0]), out).sendReady(services.metadata());
        }
        assertEquals("{\"metadata\":{\"service\":\"remembering\",\"data\":\"000aff\"}}\n{\"listening\":1}\n",
            out.toString("UTF-8"));
    }

    @Test
    void invalidLinesAreAnsweredWithAnError() throws Exception {
        try (HostedServices services = services(Remembering.class.getName())) {
            List<String> answers = converse(services, "", "[]", "{}", "{\"what\": {}}", "{\"application_stop\": {}}",
                "{\"application_stop\": {\"application\": \"x\"}}",
                "{\"application_init\": {\"application\": \"" + APPLICATION
                    + "\", \"user\": \"a\", \"service\": \"remembering\", \"data\": \"6\"}}");
            assertEquals(7, answers.size());
            for (String answer : answers) {
                assertTrue(answer.startsWith("{\"error\":\""), answer);
            }
        }
        assertEquals(2, TOLD.size());
    }

    @Test
    void aServiceWithAClassPathHasItsLocalDirectories() throws Exception {
        Configuration conf = new YarnConfiguration();
        String prefix = "yarn.nodemanager.aux-services.apart.";
        conf.set(prefix + "class", Apart.class.getName());
        conf.set(prefix + "classpath", Apart.class.getProtectionDomain().getCodeSource().getLocation().getPath());
        new HostedServices(conf, dir.toFile(), 1, Collections.singletonList("apart")).close();
        Path found = dir.resolve("recovery/nm-aux-services/apart/found");
        assertEquals("true ApplicationClassLoader", new String(Files.readAllBytes(found), StandardCharsets.UTF_8));
    }

    @Test
    void aMissingClassIsNamed() {
        RuntimeException e = assertThrows(RuntimeException.class, () -> services("com.example.Missing"));
        assertTrue(HostedServices.words(e).contains("com.example.Missing"), HostedServices.words(e));
        assertFalse(HostedServices.words(e).contains("\n"));
    }

    @Test
    void theLogIsLimited() throws Exception {
        File file = dir.resolve("log/l").toFile();
        try (HostLog log = new HostLog(file, 10)) {
            for (int i = 0; i < 5; i++) {
                log.write("123456".getBytes(StandardCharsets.UTF_8));
            }
        }
        assertEquals(6, file.length());
        assertEquals(6, new File(file.getPath() + ".1").length());
    }
}
