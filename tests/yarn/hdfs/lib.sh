# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # variables that the sourcing suite sets and uses
#
# A stock HDFS on loopback: two name nodes, nn1 and nn2, of the name service "cluster1", and a data node. For suites that have
# sourced tests/packing/lib.sh. All servers end with the suite.

hdfs_here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
nn1_pid='' nn2_pid='' dn_pid='' nn1_web='' nn2_web='' nn2_tls=''
at_exit 'end_process "$nn1_pid"; end_process "$nn2_pid"; end_process "$dn_pid"'

# If the class path is not known yet, Maven downloads its files.
hdfs_fetch() { # DIR
    mkdir -p "$1"
    (
        flock 9
        [ "$1/classpath" -nt "$hdfs_here/pom.xml" ] ||
            mvn -q -B -f "$hdfs_here/pom.xml" package "-DbuildDirectory=$1" </dev/null
    ) 9>"$1/lock"
}
hdfs_find() { hdfs_fetch "$1" && hdfs_classpath=$conf:$(cat "$1/classpath"); } # DIR

# Creates the web pages that the servers need. The jar does not have these pages.
hdfs_pages() {
    local page
    mkdir -p "$conf/webapps/static"
    for page in hdfs datanode secondary journal; do
        mkdir -p "$conf/webapps/$page/WEB-INF"
        echo '<web-app/>' >"$conf/webapps/$page/WEB-INF/web.xml"
    done
}

# Makes the TLS key of all servers, with a self-signed certificate, which is stored in $dir/ca.pem.
hdfs_keys() {
    local store=$dir/keys.jks word=a-word-of-tests
    keytool -genkeypair -alias hdfs -keyalg RSA -keysize 2048 -dname CN=hdfs -ext san=ip:127.0.0.1,dns:localhost \
        -keystore "$store" -storetype JKS -storepass "$word" -keypass "$word" &&
        keytool -exportcert -alias hdfs -rfc -keystore "$store" -storepass "$word" -file "$dir/ca.pem" || return
    write_conf "$conf/ssl-server.xml" "ssl.server.keystore.location=$store" ssl.server.keystore.type=jks \
        "ssl.server.keystore.password=$word" "ssl.server.keystore.keypassword=$word"
}

hdfs_configure() {
    local -a ports
    read -r -a ports < <(free_ports 10)
    nn1_web=http://127.0.0.1:${ports[2]} nn2_web=http://127.0.0.1:${ports[3]} nn2_tls=https://127.0.0.1:${ports[8]}
    mkdir -p "$conf" "$dir/shared"
    hdfs_pages
    printf '127.0.0.1 localhost %s\n' "$(hostname)" >"$dir/hosts"
    printf 'log4j.rootLogger=INFO,out\nlog4j.appender.out=org.apache.log4j.ConsoleAppender\n%s\n' \
        log4j.appender.out.layout=org.apache.log4j.SimpleLayout >"$conf/log4j.properties"
    write_conf "$conf/core-site.xml" fs.defaultFS=hdfs://cluster1 "hadoop.tmp.dir=$dir/tmp"
    write_conf "$conf/hdfs-site.xml" dfs.nameservices=cluster1 dfs.ha.namenodes.cluster1=nn1,nn2 \
        "dfs.namenode.rpc-address.cluster1.nn1=127.0.0.1:${ports[0]}" \
        "dfs.namenode.rpc-address.cluster1.nn2=127.0.0.1:${ports[1]}" \
        "dfs.namenode.http-address.cluster1.nn1=${nn1_web#http://}" \
        "dfs.namenode.http-address.cluster1.nn2=${nn2_web#http://}" \
        dfs.http.policy=HTTP_AND_HTTPS "dfs.namenode.https-address.cluster1.nn1=127.0.0.1:${ports[7]}" \
        "dfs.namenode.https-address.cluster1.nn2=${nn2_tls#https://}" "dfs.datanode.https.address=127.0.0.1:${ports[9]}" \
        dfs.client.failover.proxy.provider.cluster1=org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider \
        "dfs.namenode.shared.edits.dir=file://$dir/shared" \
        'dfs.ha.fencing.methods=shell(/bin/true)' dfs.ha.tail-edits.period=1s dfs.ha.log-roll.period=1s \
        "dfs.datanode.address=127.0.0.1:${ports[4]}" "dfs.datanode.http.address=127.0.0.1:${ports[5]}" \
        "dfs.datanode.ipc.address=127.0.0.1:${ports[6]}" dfs.datanode.hostname=localhost \
        dfs.replication=1 dfs.namenode.safemode.extension=0 dfs.heartbeat.interval=1
}

# Configures a single name node and a data node, and sets hdfs_fs to the file system. All users may create directories in it.
hdfs_configure_one() {
    local -a ports
    read -r -a ports < <(free_ports 5)
    hdfs_fs=hdfs://127.0.0.1:${ports[0]} hdfs_active=http://127.0.0.1:${ports[1]}
    mkdir -p "$conf"
    hdfs_pages
    write_conf "$conf/hdfs-site.xml" "dfs.namenode.http-address=${hdfs_active#http://}" \
        "dfs.namenode.name.dir=file://$dir/nn" "dfs.datanode.data.dir=file://$dir/dn" \
        "dfs.datanode.address=127.0.0.1:${ports[2]}" "dfs.datanode.http.address=127.0.0.1:${ports[3]}" \
        "dfs.datanode.ipc.address=127.0.0.1:${ports[4]}" dfs.datanode.hostname=localhost \
        dfs.replication=1 dfs.namenode.safemode.extension=0 dfs.heartbeat.interval=1
}
# Formats the name node once for all suites, because an empty image is the same for each of them.
hdfs_format_one() {
    local begun=$SECONDS image=$NMD_TEST_BUILD/java/hdfs/image
    if [ ! -d "$image" ]; then
        (hdfs_server namenode.NameNode -format -nonInteractive >>"$dir/nn.log" 2>&1) || {
            progress_give_up 'HDFS is not formatted' 'its process has ended' $((SECONDS - begun)) "$BASHPID=$dir/nn.log"
            return 1
        }
        cp -r "$dir/nn" "$image.$$" || return
        mv -T "$image.$$" "$image" 2>/dev/null || rm -rf "$image.$$" # another suite has made the image in the meantime
    else
        cp -r "$image" "$dir/nn"
    fi
}
hdfs_start_one() { # core-site.xml names hdfs_fs
    hdfs_format_one || return
    hdfs_server namenode.NameNode >>"$dir/nn.log" 2>&1 &
    nn1_pid=$!
    hdfs_server datanode.DataNode >>"$dir/dn.log" 2>&1 &
    dn_pid=$!
    patient_until 'HDFS takes no files yet' "$nn1_pid=$dir/nn.log" "$dn_pid=$dir/dn.log" -- hdfs_takes_files &&
        hdfs_rest '/?op=SETPERMISSION&permission=1777' -f -X PUT
}

# A server in the background must be started by exec. Otherwise $! would be the shell that waits for it.
hdfs_java() { java "${java_options[@]}" -cp "$hdfs_classpath" "$@"; } # CLASS ARG...
hdfs_server() { exec java "${java_options[@]}" -cp "$hdfs_classpath" "org.apache.hadoop.hdfs.server.$1" "${@:2}" </dev/null; }
name_node() { # NAME ARG...: must be called in a subshell
    hdfs_server namenode.NameNode "-Ddfs.ha.namenode.id=$1" "-Ddfs.namenode.name.dir=file://$dir/$1" "${@:2}" \
        >>"$dir/$1.log" 2>&1
}
hdfs_admin() { hdfs_java org.apache.hadoop.hdfs.tools.DFSHAAdmin "$@" 2>>"$dir/admin.log"; }
hdfs_activate() { hdfs_admin -transitionToActive "$1"; }                   # nn1 or nn2
hdfs_rest() { curl -s "$hdfs_active/webhdfs/v1$1&user.name=$(id -un)" "${@:2}"; } # PATH?QUERY [CURL-OPTION...]
hdfs_takes_files() { hdfs_rest /?op=GETFILESTATUS -f && [ "$(hdfs_live)" = 1 ]; }
hdfs_live() { curl -sf "$hdfs_active/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState" | jq '.beans[0].NumLiveDataNodes'; }

# Succeeds if the name node is on standby. The administrator's command would start a JVM for the same.
hdfs_standby() { curl -sf "$1/jmx?qry=Hadoop:service=NameNode,name=NameNodeStatus" | jq -e '.beans[0].State == "standby"'; } # ADDRESS

# Starts HDFS with nn1 on standby and nn2 active. Only nn2 accepts names of users that begin with a digit or contain an @.
hdfs_start() { hdfs_configure && hdfs_start_two; }
hdfs_start_two() { # after hdfs_configure
    hdfs_keys || return
    local names='-Ddfs.webhdfs.user.provider.user.pattern=^[A-Za-z0-9_][A-Za-z0-9._@-]*[$]?$'
    (name_node nn1 -format -nonInteractive) && cp -r "$dir/nn1" "$dir/nn2" || return 1
    name_node nn1 &
    nn1_pid=$!
    name_node nn2 "$names" &
    nn2_pid=$!
    hdfs_server datanode.DataNode "-Ddfs.datanode.data.dir=file://$dir/dn" "$names" >>"$dir/dn.log" 2>&1 &
    dn_pid=$!
    hdfs_active=$nn2_web
    wait_until 60 hdfs_standby "$nn2_web" && wait_until 60 hdfs_activate nn2 && wait_until 60 hdfs_takes_files
}

# Writes a file. The name node redirects writers to a data node, as it does with readers.
hdfs_put() { # FILE PATH
    local to
    to=$(hdfs_rest "$2?op=CREATE&overwrite=true" -X PUT -o "$dir/created" -w '%{redirect_url}')
    curl -sS --fail-with-body -X PUT -T "$1" "$to"
}
