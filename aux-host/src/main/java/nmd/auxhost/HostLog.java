// SPDX-License-Identifier: Apache-2.0
package nmd.auxhost;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;

/**
 * The log file of the process. Loggers and services write to System.out and System.err, and the standard output of the
 * process belongs to nmd. When the file is full, it replaces the one before it, so the log takes at most twice the
 * limit.
 */
final class HostLog extends OutputStream {
    static final long LIMIT = 16L << 20;

    private final File file;
    private final File former;
    private final long limit;
    private FileOutputStream out;
    private long size;

    HostLog(File file, long limit) throws IOException {
        this.file = file;
        this.former = new File(file.getPath() + ".1");
        this.limit = limit;
        open();
    }

    /** Makes the file the target of System.out and System.err. Must be called before the first logger is made. */
    static void redirect(File file) throws IOException {
        PrintStream stream = new PrintStream(new HostLog(file, LIMIT), true, "UTF-8");
        System.setOut(stream);
        System.setErr(stream);
    }

    private void open() throws IOException {
        out = new FileOutputStream(file, true);
        size = file.length();
    }

    @Override
    public synchronized void write(int b) throws IOException {
        write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public synchronized void write(byte[] bytes, int offset, int length) throws IOException {
        if (size > 0 && size + length > limit) {
            out.close();
            if (!file.renameTo(former) && !file.delete()) {
                throw new IOException("cannot replace " + file);
            }
            open();
        }
        out.write(bytes, offset, length);
        size += length;
    }

    @Override
    public synchronized void close() throws IOException {
        out.close();
    }
}
