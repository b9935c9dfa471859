# unit tests of nmctl
