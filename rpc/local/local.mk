# rpc/local/: HTTP and JSON on the UNIX socket; messages are shared with nmctl.
