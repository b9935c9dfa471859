#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 480
# beside: others
#
# A query of Hive on Tez, with the settings of docs/lending-yarn.md: its session is an application whose tasks run as lent
# containers.
jobs_of=(tez hive)
# shellcheck source=tests/yarn/lent.sh
. "$(dirname "$0")/lent.sh"

# The tables are files, so that the result can be compared. The session begins with the first query.
statements() {
    cat <<-END
	set yarn.resourcemanager.scheduler.address=$proxy_at;
	set tez.am.launch.env=$rule=all;
	create external table lines (line string) location 'file://$shared/work/lines';
	insert overwrite directory 'file://$shared/work/words' row format delimited fields terminated by ' '
	    select word, count(*) from (select explode(split(line, ' ')) as word from lines) words group by word;
	END
}
lent_cluster hive 512
need 'Tez is available' tez_install
need 'Hive is available' hive_install
hive_configure
mkdir "$shared/work/lines" && seq 1 2000 | sed 's/.*/word \& of many/' >"$shared/work/lines/text"
statements >"$shared/work/statements"
chown -R "$job_user" "$shared/work"
need 'the place of the session is free' free_hole hive
hive_begin hive "$shared/work/statements"
job_ends
is 'the query succeeds' "$?" 0 || diag "$(tail -n 60 "$dir/hive.log")" \
    "$(tail -n 40 "$shared"/node?/logs/*/application_*/container_*_000001/{stderr,syslog*} 2>/dev/null)"
id=$(hive_application hive)
id=${id#application_}
is 'Hive counts the words' "$(cat "$shared/work/words"/* | sort)" '& 2000
many 2000
of 2000
word 2000'
# Tez runs the second task in the container of the first one.
at_least 'the query had containers for its tasks' "$(count_of "$id" .)" 1
is 'all of them were lent' "$(count_of "$id" "$was_guaranteed")" 0
is 'the application was one of Tez' "$(rm_get "apps/application_$id" | jq -r .app.applicationType)" TEZ
lent_end
