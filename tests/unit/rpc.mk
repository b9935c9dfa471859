# unit tests of rpc
