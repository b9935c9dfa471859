# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154 # other libraries set the variables
#
# Stock Hadoop reads the files of aggregated logs that nmd's code writes: `yarn logs` prints them, and Hadoop's classes return
# the owner and the access lists. The files are in a local directory, and there is no ResourceManager, so that `yarn logs` reads
# the directory itself. A suite sets NMD_TEST_HADOOP and sources this file.
# shellcheck source=tests/packing/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../packing/lib.sh"

here=$(dirname "${BASH_SOURCE[0]}")
need "Hadoop's client is available" stock_build "${NMD_TEST_HADOOP:-}"
export NMD_TEST_CLASSPATH=$stock_classpath
application=application_1700000000000_10007
container=container_1700000000000_10007_01_00000
node=node01_8041
package=org.apache.hadoop.yarn.logaggregation.filecontroller
declare -A suffix=([TFile]=logs-tfile [IFile]=logs-ifile)

# Writes the configuration whose first file format is the given one.
configure() { # FORMAT
    mkdir -p "$conf"
    : >"$dir/hosts"
    write_conf "$conf/core-site.xml" fs.defaultFS=file:///
    write_conf "$conf/yarn-site.xml" yarn.log-aggregation-enable=true "yarn.nodemanager.remote-app-log-dir=file:$dir/logs" \
        "yarn.log-aggregation.file-formats=$1" \
        "yarn.log-aggregation.file-controller.TFile.class=$package.tfile.LogAggregationTFileController" \
        "yarn.log-aggregation.file-controller.IFile.class=$package.ifile.LogAggregationIndexedFileController" \
        yarn.resourcemanager.address=127.0.0.1:1 yarn.resourcemanager.connect.max-wait.ms=200 \
        yarn.resourcemanager.connect.retry-interval.ms=50 yarn.client.failover-retries=0 ipc.client.connect.max.retries=0
    printf '%s\n' log4j.rootLogger=WARN,err log4j.appender.err=org.apache.log4j.ConsoleAppender \
        log4j.appender.err.target=System.err log4j.appender.err.layout=org.apache.log4j.SimpleLayout >"$conf/log4j.properties"
}
# System.out has the encoding of the locale otherwise.
java_options+=(-Dfile.encoding=UTF-8 -Dsun.stdout.encoding=UTF-8)
# Removes the files of all applications, and prints the directory of the application's files.
new_directory() { # FORMAT
    local new=$dir/logs/ada/bucket-${suffix[$1]}/0007/$application
    rm -rf "$dir/logs"
    mkdir -p "$new" && echo "$new"
}
# Writes an upload, and adds to $dir/wanted what `yarn logs` must print: a line for each log.
upload() { # FORMAT FILE UPLOAD-MSEC [CONTAINER NAME PATH]...
    local format=tfile
    [ "$1" = TFile ] || format=indexed
    "$NMD_TEST_BUILD/log-format" "$format" "$2" "$application" ada node01:8041 "$3" 'bob,eve devs' "${@:4}" || return
    local file=$2
    shift 3
    while [ $# -gt 0 ]; do
        printf '%s %s %s %s %s\n' "$1" "${file##*/}" "$2" "$(stat -c %s "$3")" "$(sha256sum <"$3" | cut -d ' ' -f 1)" >>"$dir/wanted"
        shift 3
    done
}
# Prints the logs as `yarn logs` prints them, in the form of the lines above.
printed() {
    hadoop_java org.apache.hadoop.yarn.client.cli.LogsCLI -applicationId "$application" -appOwner ada "$@" \
        >"$dir/printed" 2>"$dir/client.log" || { cat "$dir/client.log"; return 1; }
    python3 "$here/printed-logs.py" <"$dir/printed" 2>&1
}
prints_all() { # NAME
    is "$1" "$(diff <(printed | LC_ALL=C sort) <(LC_ALL=C sort "$dir/wanted") && echo same)" same
}

# The pieces of log-format are not aligned with the chunks of a TFile. Sizes around one chunk and around several are the borders.
make_logs() {
    local size
    cd "$dir" || return
    for size in 0 1 127 128 1048575 1048576 1048577 3145728; do
        head -c "$size" /dev/urandom >"size-$size" || return
    done
    printf 'End of LogType:stdout\n****\nContainer: %s1 on %s\n' "$container" "$node" >tricky # looks like the output of yarn logs
    cd - >/dev/null || return
}
# The name has characters of two, three and four bytes in UTF-8. In Java's form, the last one has six.
odd=$'grüße ☃ \xf0\x9f\x98\x80'
all_logs=("${container}1" stdout "$dir/tricky" "${container}1" stderr "$dir/size-0" "${container}1" bytes "$dir/size-3145728"
    "${container}2" one "$dir/size-1" "${container}2" below "$dir/size-1048575" "${container}2" chunk "$dir/size-1048576"
    "${container}2" above "$dir/size-1048577" "${container}3" "$odd" "$dir/size-127" "${container}3" .-x "$dir/size-128")

one_upload() { # FORMAT
    local file
    file=$(new_directory "$1")/$node
    : >"$dir/wanted"
    need "the logs are written as $1" upload "$1" "$file" 1700000000001 "${all_logs[@]}"
    prints_all "yarn logs prints the logs of $1 byte for byte"
    is "yarn logs prints one log of one container of $1" "$(printed -containerId "${container}2" -log_files chunk)" \
        "$(grep ' chunk ' "$dir/wanted")"
    is "yarn logs prints the last bytes of a log of $1" "$(printed -containerId "${container}2" -log_files chunk -size -1000 |
        cut -d ' ' -f 5)" "$(tail -c 1000 "$dir/size-1048576" | sha256sum | cut -d ' ' -f 1)"
    is "Hadoop's classes return the owner and the access lists of $1" \
        "$(hadoop_java "$here/LogAccess.java" "$application" "$file" 2>"$dir/client.log")" 'ada VIEW_APP=bob,eve devs MODIFY_APP='
}

# Each upload is a file, or all uploads are appended to one file.
several_uploads() { # FORMAT files|appended
    local folder n file
    folder=$(new_directory "$1")
    : >"$dir/wanted"
    for n in $(seq 11 50); do
        head -c $((n * 1000)) /dev/urandom >"$dir/upload-$n"
        file=$folder/${node}_1700000000000
        [ "$2" = appended ] || file=$folder/${node}_17000000000$n
        upload "$1" "$file" "17000000000$n" "${container}$((n % 3 + 1))" syslog "$dir/upload-$n" \
            "${container}4" "log.$n" "$dir/size-1" || not_ok "upload $n of $1 is written"
    done
    prints_all "yarn logs prints the logs of 40 uploads of $1 ($2)"
}

# An upload that ended early. Beside the file is another one with the length that is valid.
cut_upload() {
    local folder=$1 file=$1/${node}_1700000000000 size name=${node}_1700000000000
    size=$(stat -c %s "$file")
    head -c 5000 /dev/urandom >>"$file"
    python3 -c 'import struct, sys
name = sys.argv[1].encode()
sys.stdout.buffer.write(struct.pack(">i", len(name)) + name + struct.pack(">q", int(sys.argv[2])))' "$name" "$size" >"$folder/$node-checksum"
}

need 'the logs are made' make_logs
for format in TFile IFile; do
    configure "$format"
    one_upload "$format"
    several_uploads "$format" files
done
several_uploads IFile appended
cut_upload "$(dirname "$(find "$dir/logs" -name "${node}_*")")"
prints_all 'yarn logs prints the logs of the complete uploads of an IndexedFile'
done_testing
