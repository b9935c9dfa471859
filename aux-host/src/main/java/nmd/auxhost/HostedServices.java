// SPDX-License-Identifier: Apache-2.0
package nmd.auxhost;

import java.io.File;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.yarn.api.records.ApplicationId;
import org.apache.hadoop.yarn.api.records.ContainerId;
import org.apache.hadoop.yarn.api.records.Resource;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.security.ContainerTokenIdentifier;
import org.apache.hadoop.yarn.server.api.AuxiliaryLocalPathHandler;
import org.apache.hadoop.yarn.server.api.AuxiliaryService;
import org.apache.hadoop.yarn.server.api.ContainerType;
import org.apache.hadoop.yarn.server.nodemanager.Context;
import org.apache.hadoop.yarn.server.nodemanager.DeletionService;
import org.apache.hadoop.yarn.server.nodemanager.LocalDirsHandlerService;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.AuxServices;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.AuxServicesEvent;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.AuxServicesEventType;
import org.apache.hadoop.yarn.server.nodemanager.containermanager.container.Container;

/**
 * The services, in Hadoop's own AuxServices. So they are loaded and called exactly as in a NodeManager: with their
 * class paths, remote class paths and system classes, and with their recovery directories.
 */
final class HostedServices implements AutoCloseable {
    private static final String NODE_MANAGER = "org.apache.hadoop.yarn.server.nodemanager.";
    private static final String PATH_HANDLER =
        NODE_MANAGER + "containermanager.ContainerManagerImpl$AuxiliaryLocalPathHandlerImpl";
    private static final String WRAPPER = NODE_MANAGER + "containermanager.AuxiliaryServiceWithCustomClassLoader";
    private static final String CHECKS = "yarn.nodemanager.disk-health-checker.";

    private final DeletionService deletions;
    private final AuxServices services;

    /** Starts the services. dir: the directory of the process, with so many local directories (see Main). */
    HostedServices(Configuration base, File dir, int localDirs, List<String> names)
            throws ReflectiveOperationException {
        Configuration conf = configure(base, dir, localDirs, names);
        LocalDirsHandlerService dirs = new LocalDirsHandlerService();
        dirs.init(withoutChecks(conf));
        deletions = new DeletionService(null);
        deletions.init(conf);
        deletions.start();
        AuxiliaryLocalPathHandler handler = newPathHandler(dirs);
        services = newAuxServices(handler, dirs, deletions);
        services.init(conf);
        passOn(handler);
        services.start();
    }

    /** Directs the services to the directories of the process. They must not depend on those of a NodeManager. */
    static Configuration configure(Configuration conf, File dir, int localDirs, List<String> names) {
        conf.set(YarnConfiguration.NM_AUX_SERVICES, String.join(",", names));
        conf.setBoolean(YarnConfiguration.NM_AUX_SERVICES_MANIFEST_ENABLED, false);
        conf.set(YarnConfiguration.NM_LOCAL_DIRS, String.join(",", localDirs(new File(dir, "local"), localDirs)));
        conf.set(YarnConfiguration.NM_LOG_DIRS, new File(dir, "log").getPath());
        conf.setBoolean(YarnConfiguration.NM_RECOVERY_ENABLED, true);
        conf.set(YarnConfiguration.NM_RECOVERY_DIR, new File(dir, "recovery").getPath());
        return conf;
    }

    private static List<String> localDirs(File parent, int n) {
        List<String> dirs = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            dirs.add(new File(parent, String.valueOf(i)).getPath());
        }
        return dirs;
    }

    /** nmd checks the disks. The directories of this process only have links to them. */
    private static Configuration withoutChecks(Configuration conf) {
        Configuration c = new Configuration(conf);
        c.setBoolean(CHECKS + "enable", false);
        c.setBoolean(CHECKS + "working-dir-content-accessibility-validation.enabled", false);
        return c;
    }

    /** This constructor and the next one are not public. Both have the same parameters in Hadoop 3.3, 3.4 and 3.5. */
    private static AuxiliaryLocalPathHandler newPathHandler(LocalDirsHandlerService dirs)
            throws ReflectiveOperationException {
        Constructor<?> handler = Class.forName(PATH_HANDLER).getDeclaredConstructor(LocalDirsHandlerService.class);
        handler.setAccessible(true);
        return (AuxiliaryLocalPathHandler) handler.newInstance(dirs);
    }

    private static AuxServices newAuxServices(AuxiliaryLocalPathHandler handler, LocalDirsHandlerService dirs,
            DeletionService deletions) throws ReflectiveOperationException {
        Constructor<AuxServices> aux = AuxServices.class.getDeclaredConstructor(
            AuxiliaryLocalPathHandler.class, Context.class, DeletionService.class);
        aux.setAccessible(true);
        Context context = Stub.of(Context.class, Collections.singletonMap("getLocalDirsHandler", dirs));
        return aux.newInstance(handler, context, deletions);
    }

    /**
     * Gives the local directories to services with a class path of their own. Hadoop's wrapper for such services does
     * not pass them on, so ShuffleHandler would find no file.
     */
    private void passOn(AuxiliaryLocalPathHandler handler) throws ReflectiveOperationException {
        Method list = AuxServices.class.getDeclaredMethod("getServices");
        list.setAccessible(true);
        for (Object service : (Collection<?>) list.invoke(services)) {
            if (service.getClass().getName().equals(WRAPPER)) {
                Field wrapped = service.getClass().getDeclaredField("wrapped");
                wrapped.setAccessible(true);
                ((AuxiliaryService) wrapped.get(service)).setAuxiliaryLocalPathHandler(handler);
            }
        }
    }

    /** Returns the metadata of each service that has any. */
    Map<String, ByteBuffer> metadata() {
        return services.getMetaData();
    }

    void initializeApplication(String user, String application, String service, byte[] data) {
        services.handle(new AuxServicesEvent(AuxServicesEventType.APPLICATION_INIT, user,
            ApplicationId.fromString(application), service, ByteBuffer.wrap(data)));
    }

    void stopApplication(String application) {
        services.handle(
            new AuxServicesEvent(AuxServicesEventType.APPLICATION_STOP, ApplicationId.fromString(application)));
    }

    /** What the services learn about a container. */
    static final class ContainerFacts {
        String id;
        String user;
        long memoryMb;
        int vcores;
        boolean isMaster;
    }

    private static final class TypedToken extends ContainerTokenIdentifier {
        private final ContainerType type;

        TypedToken(ContainerType type) {
            this.type = type;
        }

        @Override
        public ContainerType getContainerType() {
            return type;
        }
    }

    private static Container containerOf(ContainerFacts facts) {
        Map<String, Object> answers = new HashMap<>();
        answers.put("getUser", facts.user);
        answers.put("getContainerId", ContainerId.fromString(facts.id));
        answers.put("getResource", Resource.newInstance(facts.memoryMb, facts.vcores));
        answers.put("getContainerTokenIdentifier",
            new TypedToken(facts.isMaster ? ContainerType.APPLICATION_MASTER : ContainerType.TASK));
        return Stub.of(Container.class, answers);
    }

    void initializeContainer(ContainerFacts facts) {
        services.handle(new AuxServicesEvent(AuxServicesEventType.CONTAINER_INIT, containerOf(facts)));
    }

    void stopContainer(ContainerFacts facts) {
        services.handle(new AuxServicesEvent(AuxServicesEventType.CONTAINER_STOP, containerOf(facts)));
    }

    @Override
    public void close() throws IOException {
        services.stop();
        deletions.stop();
    }

    /** Returns the words of a failure and of its causes, without those that repeat others. */
    static String words(Throwable t) {
        List<String> parts = new ArrayList<>();
        for (Throwable cause = t; cause != null && parts.size() < 8; cause = cause.getCause()) {
            String text = cause instanceof ClassNotFoundException || cause instanceof NoClassDefFoundError
                ? "the class " + cause.getMessage() + " was not found on the class path"
                : String.valueOf(cause.getMessage());
            if (cause.getMessage() == null) {
                text = cause.getClass().getName();
            }
            String last = parts.isEmpty() ? "" : parts.get(parts.size() - 1);
            if (last.contains(cause.getClass().getName()) && cause.getMessage() != null) {
                parts.set(parts.size() - 1, text);
            } else if (!last.contains(text)) {
                parts.add(text);
            }
        }
        return String.join(": ", parts).replaceAll("\\s+", " ");
    }
}
