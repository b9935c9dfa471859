# unit tests of policy
