/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* All of nmctl but its main(): parses the command line and runs the verb. Returns the exit status.
 */
int nm_cli_run(int argc, char **argv);
