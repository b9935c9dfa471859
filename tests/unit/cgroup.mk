# unit tests of cgroup
