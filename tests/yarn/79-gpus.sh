#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 240
#
# GPUs (yarn.io/gpu) on a node with the direct backend, where they are assigned but not isolated: found by a made-up nvidia-smi,
# counted by the stock ResourceManager, kept over a kill of nmd, and taken from opportunistic containers. The VM suite 72-gpus has
# the isolation.
# The cluster is the one of lib.sh, with one local directory and one log directory.
# shellcheck source=tests/yarn/lib.sh
. "$(dirname "$0")/lib.sh"

heartbeat_ms=200
make_shared_dir
gpu=yarn.nodemanager.resource-plugins
mkdir "$shared/smi"
make_smi() { # MINOR...: makes an nvidia-smi that reports GPUs with these minor numbers
    {
        printf '#!/bin/sh\ncat <<END\n'
        echo '<?xml version="1.0" ?><!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v11.dtd"><nvidia_smi_log>'
        printf '<gpu id="00000000:04:00.0"><product_name>Made Up</product_name><minor_number>%d</minor_number></gpu>\n' "$@"
        printf '</nvidia_smi_log>\nEND\n'
    } >"$shared/smi/nvidia-smi.new"
    chmod 755 "$shared/smi/nvidia-smi.new"
    mv "$shared/smi/nvidia-smi.new" "$shared/smi/nvidia-smi"
}
rm_configure --stock "${node_site[@]}" yarn.resourcemanager.opportunistic-container-allocation.enabled=true \
    yarn.scheduler.minimum-allocation-mb=16 yarn.nodemanager.opportunistic-containers-max-queue-length=10 \
    yarn.nodemanager.resource.cpu-vcores=16 yarn.nodemanager.resource.memory-mb=2400 \
    "yarn.nodemanager.local-dirs=$shared/local" "yarn.nodemanager.log-dirs=$shared/logs" \
    yarn.nodemanager.recovery.enabled=true yarn.nodemanager.recovery.supervised=true \
    yarn.nodemanager.linux-container-executor.nonsecure-mode.local-user=nobody \
    "$cs.resource-calculator=org.apache.hadoop.yarn.util.resource.DominantResourceCalculator" \
    "$gpu=yarn.io/gpu" "$gpu.gpu.path-to-discovery-executables=$shared/smi"
write_conf "$conf/resource-types.xml" yarn.resource-types=yarn.io/gpu
need 'a stock ResourceManager with GPUs starts' rm_again
need 'an application master is registered' cluster_start 0
need "the host's memory can be simulated" node_proc_start 4000 16
node_configure

# ---- discovery ---------------------------------------------------------------------------------------

check_config() { try timeout 20 "$NMD" --check-config --config "$nmd_conf" --yarn-conf "$conf" --backend direct; }
check_config
is '--check-config refuses a missing nvidia-smi' "$status" 1
like 'the refusal names the property and the path' "$err$out" \
    "path-to-discovery-executables = '$shared/smi/nvidia-smi': No such file or directory"
make_smi 3 1
check_config
is '--check-config accepts the program' "$status" 0
printf '#!/bin/sh\nexit 7\n' >"$shared/smi/nvidia-smi"
need 'nmd starts' node_start
trouble_has() { [[ $(upstream_of .gpus.trouble) = *"$1"* ]]; } # TEXT
check 'nmctl status says why the GPUs are not known' wait_until 20 trouble_has 'nvidia-smi exited with status 7'
is 'the node does not join the cluster without its GPUs' "$(upstream_of .state) $(of_node .state 2>/dev/null)" 'registering '
make_smi 3 1
check 'the node joins the cluster when nvidia-smi works' wait_until 30 upstream_is running
gpus_at_rm() { # RESOURCE
    rm_get nodes | jq -r ".nodes.node[0].$1.resourceInformations.resourceInformation[] | select(.name == \"yarn.io/gpu\") | .value"
}
is 'the ResourceManager has the number of GPUs' "$(gpus_at_rm totalResource)" 2
is 'the GPUs have the indexes and minor numbers of the report' \
    "$(upstream_of '[.gpus.devices[] | "\(.index):\(.minor)"] | join(" ")')" '0:3 1:1'
is 'nmctl status says that they are not isolated' "$(upstream_of .gpus.isolated)" false
like 'nmctl status shows the GPUs' "$(nmctl status)" '^GPUs +0: free, 1: free; not isolated$'
like 'the log warns that they are not isolated' "$(<"$dir/nmd.log")" 'GPUs are not isolated: '

# ---- assignment --------------------------------------------------------------------------------------

held() { light containers | jq -r '.[] | select(.node or .end) | .id' | sort; }
not_in() { comm -13 <(printf '%s\n' "$1") <(held); }
one_not_in() { [ -n "$(not_in "$1")" ]; }
one_more() { # QUERY: requests one container, and prints its id
    local before
    before=$(held)
    light "ask?n=1&mb=64&$1" >/dev/null && wait_until 30 one_not_in "$before" && not_in "$before"
}
cat >"$shared/show" <<'END'
#!/bin/sh
echo "cuda=$CUDA_VISIBLE_DEVICES order=$CUDA_DEVICE_ORDER nvidia=$NVIDIA_VISIBLE_DEVICES"
exec sleep 1000
END
chmod 755 "$shared/show"
cmd="cmd=exec+$shared/show"
gpus_are() { # TEXT: "INDEX=CONTAINER" for each GPU that a container has
    [ "$(upstream_of '[.gpus.devices[] | select(.assigned) | "\(.index)=\(.container)"] | join(" ")')" = "$1" ]
}
has_printed() { [ "$(nmctl logs "$1")" = "$2" ]; } # ID TEXT
end_of() { light containers | jq -r --arg id "$1" '.[] | select(.id == $id) | .end // ""'; } # ID
ended() { [ -n "$(end_of "$1")" ]; }

a=$(one_more "gpus=1&$cmd")
check 'a container gets the GPU with the lowest index' wait_until 20 gpus_are "0=$a"
check 'its environment has the index' wait_until 20 has_printed "$a" 'cuda=0 order=PCI_BUS_ID nvidia=0'
none=$(one_more "$cmd")
check 'the environment of a container without a GPU has none' wait_until 20 has_printed "$none" 'cuda= order= nvidia=void'
b=$(one_more "gpus=1&$cmd")
check 'the next container gets the other GPU' wait_until 20 gpus_are "0=$a 1=$b"
check 'without isolation, its environment has the index too' wait_until 20 has_printed "$b" 'cuda=1 order=PCI_BUS_ID nvidia=1'
is 'the ResourceManager counts both' "$(gpus_at_rm usedResource)" 2
like 'nmctl status shows the containers' "$(nmctl status)" "^GPUs +0: $a, 1: $b; not isolated\$"
like 'nmctl status shows the sum' "$(nmctl status)" '^resources +yarn.io/gpu: 2 of 2 allocated$'
resource=$(curl -sS --unix-socket "$NMD_SOCKET" http://nmd/ws/v1/node/resources/yarn.io%2Fgpu)
is "the web service has the members of Hadoop's class" "$(jq -cS . <<<"$resource")" "$(jq -cnS --arg a "$a" --arg b "$b" \
    '{gpuDeviceInformation: null, totalGpuDevices: [{index: 0, minorNumber: 3}, {index: 1, minorNumber: 1}],
    assignedGpuDevices: [{index: 0, minorNumber: 3, containerId: $a}, {index: 1, minorNumber: 1, containerId: $b}]}')"
metric() { curl -sS --unix-socket "$NMD_SOCKET" http://nmd/metrics | sed -n "s/^$1 //p"; } # NAME
is 'the metrics count the GPUs' "$(metric nm_gpus) $(metric nm_gpus_assigned)" '2 2'

# ---- a kill of nmd -----------------------------------------------------------------------------------

pid=$(field_of "$b" .pid)
nmd_kill
need 'nmd starts again after a kill' node_start
check 'it knows which container has which GPU' wait_until 30 gpus_are "0=$a 1=$b"
is 'the containers still run' "$(field_of "$b" .pid)" "$pid"
check 'the node joins the cluster again' wait_until 30 upstream_is running
is 'the ResourceManager still counts both' "$(gpus_at_rm usedResource)" 2

# ---- opportunistic containers -------------------------------------------------------------------------

o=$(one_more "gpus=1&type=OPPORTUNISTIC&$cmd")
waits() { [ "$(field_of "$1" .progress)" = 'waiting for yarn.io/gpu' ]; } # ID
check 'an opportunistic container waits while guaranteed ones have all GPUs' wait_until 30 waits "$o"
like 'nmctl explain says what it waits for' "$(nmctl explain "$o")" 'waiting for yarn.io/gpu'
light "end?container=$a" >/dev/null
check 'it gets a GPU that is released' wait_until 30 gpus_are "0=$o 1=$b"
check 'it runs' wait_until 60 in_state "$o" RUNNING
nmctl pause "$o" >/dev/null
check 'it is paused' wait_until 20 in_state "$o" PAUSED
check 'it keeps its GPU' gpus_are "0=$o 1=$b"
g=$(one_more "gpus=1&$cmd")
check 'a guaranteed container takes the GPU of the paused one' wait_until 30 gpus_are "0=$g 1=$b"
check "the opportunistic container's end is reported" wait_until 20 ended "$o"
like 'it was killed by the node, with the reason' "$(end_of "$o")" '^-108 .*needs its resource, such as a GPU'
like 'nmctl explain has the reason' "$(nmctl explain "$o")" 'guaranteed container needs its resource'
check 'the guaranteed container runs' wait_until 30 in_state "$g" RUNNING

# ---- the end ----------------------------------------------------------------------------------------

light "end?container=$g" >/dev/null
light "end?container=$b" >/dev/null
check 'ended containers release their GPUs' wait_until 30 gpus_are ''
nothing_used() { [ "$(gpus_at_rm usedResource)" = 0 ]; }
check 'the ResourceManager has released them' wait_until 20 nothing_used
done_testing
