#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 300
# host: yarn
#
# GPUs are isolated by systemd: a container can open the devices that it was assigned, and no others. The devices are made up:
# without their driver, an open that is permitted fails with ENXIO, and one that is forbidden with EPERM.
# shellcheck source=tests/vm/lib.sh
. "$NMD_VM_LIB"
# shellcheck source=tests/vm/data/yarn.sh
. "$NMD_VM_DATA/yarn.sh"

for minor in 0 1 2 3; do mknod -m 666 "/dev/nvidia$minor" c 195 "$minor"; done
mknod -m 666 /dev/nvidiactl c 195 255
mknod -m 666 /dev/late c 511 0 # of a driver that is loaded later
bin=/usr/local/nvidia/bin
mkdir -p $bin
remove_devices() { rm -rf /dev/nvidia? /dev/nvidiactl /dev/late /usr/local/nvidia /run/gpu-suite; }
at_exit remove_devices
mkdir -m 1777 /run/gpu-suite
cat >$bin/try <<'END'
#!/usr/bin/python3
import errno, os, sys
def result(path):
    try:
        os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))
        return "open"
    except OSError as e:
        return errno.errorcode[e.errno]
print(" ".join(result("/dev/" + name) for name in sys.argv[1:]))
END
# The service's own rules must let nvidia-smi use the devices.
cat >$bin/nvidia-smi <<'END'
#!/bin/sh
/usr/local/nvidia/bin/try nvidiactl nvidia0 >/run/gpu-suite/smi
echo '<nvidia_smi_log><gpu><minor_number>0</minor_number></gpu><gpu><minor_number>2</minor_number></gpu></nvidia_smi_log>'
END
cat >$bin/probe <<'END'
#!/bin/sh
echo "cuda=$CUDA_VISIBLE_DEVICES nvidia=$NVIDIA_VISIBLE_DEVICES"
while :; do
    /usr/local/nvidia/bin/try nvidia0 nvidia1 nvidia2 nvidia3 nvidiactl late null urandom
    read -r line </run/gpu-suite/again
done
END
chmod 755 $bin/*
mkfifo -m 666 /run/gpu-suite/again

yarn_site 700
gpu=yarn.nodemanager.resource-plugins
sed -i "s|</configuration>|<property><name>$gpu</name><value>yarn.io/gpu</value></property>&|" /etc/hadoop/conf/yarn-site.xml
echo '<configuration><property><name>yarn.resource-types</name><value>yarn.io/gpu</value></property></configuration>' \
    >/etc/hadoop/conf/resource-types.xml
let_through
mkdir -p /etc/nmd/nmd.conf.d
printf '[yarn]\nenabled = yes\n' >/etc/nmd/nmd.conf.d/50-yarn.conf
quick_nmd
check "the node joins the cluster" wait_until 60 status_is .upstream.state running || done_testing
is "the service may use the devices for nvidia-smi" "$(cat /run/gpu-suite/smi)" "ENXIO ENXIO"
is "the ResourceManager has the GPUs" "$(rm_node '.totalResource.resourceInformations.resourceInformation[] |
    select(.name == "yarn.io/gpu") | .value')" 2
is "nmctl status says that GPUs are isolated" "$(status_of '.upstream.gpus | "\(.isolated) \(.trouble)"')" "true null"
like "nmctl status shows them" "$(nmctl status)" '^GPUs +0: free, 1: free$'
gpus_are() { # TEXT: "INDEX=CONTAINER" for each GPU that a container has
    [ "$(status_of '[.upstream.gpus.devices[] | select(.assigned) | "\(.index)=\(.container)"] | join(" ")')" = "$1" ]
}
prints() { [ "$(nmctl logs "$1")" = "$2" ]; } # ID TEXT

# ---- what containers can open -------------------------------------------------------------------------

a=$(one_more mb=64 gpus=1 "cmd=exec $bin/probe")
check "a container gets the first GPU" wait_until 60 gpus_are "0=$a"
check "it can open only this one" wait_until 60 prints "$a" "cuda=0 nvidia=0
ENXIO EPERM EPERM EPERM ENXIO ENXIO open open"
b=$(one_more mb=64 gpus=1 "cmd=exec $bin/probe")
check "the next container gets the second GPU" wait_until 60 gpus_are "0=$a 1=$b"
check "it can open only that one, which has the number 0 for CUDA" wait_until 60 prints "$b" "cuda=0 nvidia=1
EPERM EPERM ENXIO EPERM ENXIO ENXIO open open"
none=$(one_more mb=64 "cmd=exec $bin/probe")
check "a container without a GPU can open none" wait_until 60 prints "$none" "cuda= nvidia=void
EPERM EPERM EPERM EPERM ENXIO ENXIO open open"
is "systemd has the rule" "$(systemctl show -p DevicePolicy --value "nm-$a.scope")" closed
is "a container of a local user is not restricted" \
    "$(nmctl run -u alice -m 50M -c 0.1 -- $bin/try nvidia0 nvidia1)" "ENXIO ENXIO"

# ---- restarts ---------------------------------------------------------------------------------------

systemctl kill -s KILL nmd.service
check "nmd is started again after a kill" wait_until 60 status_is .upstream.state running
check "it knows the GPUs of the containers" wait_until 60 gpus_are "0=$a 1=$b"
systemctl daemon-reload
for _ in 1 2 3; do echo go >/run/gpu-suite/again; done # one line for each of the three containers
tries_again() { [ "$(nmctl logs "$1" | wc -l)" -ge 3 ]; } # ID
check "a container tries again to open the devices" wait_until 30 eval 'tries_again "$a" || tries_again "$b" || tries_again "$none"'
unchanged() { [ "$(nmctl logs "$1" | tail -n +2 | sort -u | wc -l)" = 1 ]; } # ID
is "after a kill of nmd and a daemon-reload, the same devices can be opened" \
    "$(for id in "$a" "$b" "$none"; do unchanged "$id" || nmctl logs "$id"; done)" ""

# ---- opportunistic containers --------------------------------------------------------------------------

light end "container=$a" >/dev/null
check "an ended container releases its GPU" wait_until 60 gpus_are "1=$b"
o=$(one_more mb=64 gpus=1 type=OPPORTUNISTIC "cmd=exec $bin/probe")
check "an opportunistic container gets it" wait_until 60 gpus_are "0=$o 1=$b"
check "the opportunistic container runs" wait_until 60 in_state "$o" RUNNING
nmctl pause "$o" >/dev/null
check "the opportunistic container is paused" wait_until 30 in_state "$o" PAUSED
g=$(one_more mb=64 gpus=1 "cmd=exec $bin/probe")
check "a guaranteed container takes the GPU of the paused one" wait_until 60 gpus_are "0=$g 1=$b"
check "the opportunistic container has ended" wait_until 60 ended "$o"
like "its master gets the reason" "$(ends "$o")" "^-108 .*such as a GPU"
check "the guaranteed container can open it" wait_until 60 prints "$g" "cuda=0 nvidia=0
ENXIO EPERM EPERM EPERM ENXIO ENXIO open open"

# ---- GPUs that the configuration lists -----------------------------------------------------------------

light end "container=$b" >/dev/null
light end "container=$g" >/dev/null
light end "container=$none" >/dev/null
check "ended containers release their GPUs" wait_until 60 gpus_are ""
sed -i "s|</configuration>|<property><name>$gpu.gpu.allowed-gpu-devices</name><value>0:3,1:1</value></property>&|" \
    /etc/hadoop/conf/yarn-site.xml
rm /run/gpu-suite/smi
systemctl restart nmd.service
check "the node joins the cluster with the GPUs of its configuration" wait_until 60 status_is .upstream.state running
is "nvidia-smi was not run" "$(ls /run/gpu-suite)" again
is "the GPUs have the indexes and minor numbers of the configuration" \
    "$(status_of '[.upstream.gpus.devices[] | "\(.index):\(.minor)"] | join(" ")')" "0:3 1:1"
is "they are isolated" "$(status_of .upstream.gpus.isolated)" true
l=$(one_more mb=64 gpus=1 "cmd=exec $bin/probe")
check "a container gets the first GPU of the list" wait_until 60 gpus_are "0=$l"
check "it can open only this one" wait_until 60 prints "$l" "cuda=0 nvidia=0
EPERM EPERM EPERM ENXIO ENXIO ENXIO open open"
light finish >/dev/null
check "the end of the application releases all GPUs" wait_until 60 gpus_are ""
done_testing
