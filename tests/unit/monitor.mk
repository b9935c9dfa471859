# unit tests of monitor
