// SPDX-License-Identifier: Apache-2.0

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;

/** Carries out the statements of a file in one session of a HiveServer2 that runs in this process: Query USER FILE. */
public class Query {
    public static void main(String[] args) {
        int status = 1;

        try (Connection c = DriverManager.getConnection("jdbc:hive2://", args[0], "");
                Statement s = c.createStatement()) {
            for (String text : Files.readString(Path.of(args[1])).split(";"))
                if (!text.isBlank())
                    s.execute(text.strip());
            status = 0;
        } catch (Exception e) {
            e.printStackTrace();
        }
        System.exit(status); // threads of the metastore would keep the process
    }
}
