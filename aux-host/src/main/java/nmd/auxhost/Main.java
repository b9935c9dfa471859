// SPDX-License-Identifier: Apache-2.0
package nmd.auxhost;

import java.io.File;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/**
 * The process that runs auxiliary services for nmd: Main DIRECTORY LOCAL-DIRS SERVICE...
 *
 * <p>LOCAL-DIRS is the number of directories DIRECTORY/local/0, ... Each stands for a local directory of the node and
 * has a link to its usercache. The services keep their state in DIRECTORY/recovery. The log is
 * DIRECTORY/log/aux-host.log.
 */
public final class Main {
    private static final String LOG_CONFIGURATION = "log4j.configuration";

    private Main() {
    }

    /** Runs until the end of the standard input. The exit status is 1 if the services can't be started. */
    public static void main(String[] arguments) throws IOException {
        if (arguments.length < 3) {
            System.err.println("usage: java nmd.auxhost.Main DIRECTORY LOCAL-DIRS SERVICE...");
            System.exit(2);
        }
        File dir = new File(arguments[0]);
        HostLog.redirect(new File(dir, "log/aux-host.log"));
        ClassLoader loader = Main.class.getClassLoader();
        if (System.getProperty(LOG_CONFIGURATION) == null && loader.getResource("log4j.properties") == null) {
            System.setProperty(LOG_CONFIGURATION, "nmd-aux-host-log4j.properties");
        }
        Control control = new Control(new FileInputStream(FileDescriptor.in), new FileOutputStream(FileDescriptor.out));
        List<String> names = Arrays.asList(arguments).subList(2, arguments.length);
        System.exit(run(control, dir, Integer.parseInt(arguments[1]), names));
    }

    private static int run(Control control, File dir, int localDirs, List<String> names) throws IOException {
        HostedServices services;
        try {
            services = new HostedServices(new YarnConfiguration(), dir, localDirs, names);
        } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
            e.printStackTrace();
            control.sendFailure(HostedServices.words(e));
            return 1;
        }
        control.sendReady(services.metadata());
        control.serve(services);
        services.close();
        return 0;
    }
}
