/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Implements nmctl without main(): parses the command line and runs the verb. Returns the exit status. */
int nm_cli_run(int argc, char **argv);
