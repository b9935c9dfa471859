// SPDX-License-Identifier: Apache-2.0

import java.io.File;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.List;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.util.RunJar;

/** Unpacks as Hadoop's NodeManager does: ARCHIVE DIR, or JAR DIR PATTERNS (a file, one a line; to DIR/0, ...). */
public final class Unpack {
  private Unpack() {
  }

  /** Unpacks as FSDownload does. */
  private static void unpack(String archive, File dir) throws Exception {
    try (InputStream in = Files.newInputStream(Paths.get(archive))) {
      if (archive.endsWith(".jar")) {
        RunJar.unJar(in, dir, RunJar.MATCH_ANY);
      } else if (archive.endsWith(".zip")) {
        FileUtil.unZip(in, dir);
      } else {
        FileUtil.unTar(in, dir, archive.endsWith("gz"));
      }
    }
  }

  public static void main(String[] args) throws Exception {
    File dir = new File(args[1]);

    if (args.length == 2) {
      unpack(args[0], dir);
      return;
    }
    List<String> patterns = Files.readAllLines(Paths.get(args[2]), StandardCharsets.UTF_8);
    for (int i = 0; i < patterns.size(); i++) {
      File target = new File(dir, Integer.toString(i));
      Files.createDirectories(target.toPath());
      try (InputStream in = Files.newInputStream(Paths.get(args[0]))) {
        RunJar.unJar(in, target, Pattern.compile(patterns.get(i)));
      }
    }
  }
}
