#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# deadline: 150
# beside: others
#
# The status page as a browser renders it with the responses of the real nmd. The browser is headless Chromium, which can only
# reach nmd. With NMD_TEST_KEEP=DIR the suite stores the picture in DIR.
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"

chromium=$(command -v chromium) || skip_all "no chromium"
port=$(free_port)
node_proc_start
nmd_configure <<END
[node]
memory = 1000M
[preemption]
pause = yes
[interface]
http-address = 127.0.0.1:$port
END
nmd_start || exit 1

# The browser resolves only nmd's host name. A page that loaded data from another host would be incomplete.
browse() { # OPTION...
    timeout -k 5 60 "$chromium" --headless --no-sandbox --disable-gpu --disable-quic \
        --no-first-run --disable-background-networking --disable-component-update --disable-sync \
        --disable-dev-shm-usage --host-resolver-rules='MAP * ~NOTFOUND, EXCLUDE 127.0.0.1' \
        --user-data-dir="$(mktemp -d "$dir/browser.XXXXXX")" --virtual-time-budget=6000 \
        --window-size=1280,1100 "$@" "http://127.0.0.1:$port/" 2>>"$dir/chromium.err" </dev/null
}

hog web-server -m 400M -c 0.5 -- 40
hog batch-1 --app application_1410901177871_0001 --opportunistic -m 200M -c 0.5 -- 40 --spin
short=$(nmctl run --wait --name short -m 10M -c 0.1 -- sh -c 'exit 3'; echo $?)
is "one container has run and ended" "$short" 3
wait_until 20 burns batch-1 100 || exit 1
wait_until 10 settled batch-1
node_cpu 1950
wait_until 20 in_state batch-1 PAUSED
submit batch-2 --app application_1410901177871_0001 --opportunistic -m 300M -c 0.5 -- sleep 300
wait_until 20 queue_reason_is batch-2 over-alpha

# Prints the contents of the rendered page, one item per line.
cat >"$dir/look.py" <<'END'
import html.parser, sys

class Look(html.parser.HTMLParser):
    VOID = {"meta", "link", "br", "img", "input", "hr"}

    def __init__(self):
        super().__init__()
        self.path, self.text = [], {}

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        if tag not in self.VOID:
            self.path.append((tag, a.get("id") or a.get("class") or ""))
        inside = [name for _, name in self.path]
        if tag == "body":
            print("ready", a.get("data-ready"))
        if tag == "canvas":
            for chart in ("memory", "cpu", "pressure"):
                if chart in inside and int(a.get("width", 0)) > 100 and int(a.get("height", 0)) > 100:
                    print("canvas", chart)
        if tag == "i" and "track" in inside:
            print("piece", a["title"].split(", for ")[0])
        for name in ("src", "href", "action"):
            if name in a:
                print("refers to", a[name])

    def handle_endtag(self, tag):
        while self.path and self.path.pop()[0] != tag:
            pass

    def handle_data(self, data):
        inside = [name for _, name in self.path]
        tag = self.path[-1][0] if self.path else ""
        if "error" in inside:
            print("error", data)
        elif "lanes" in inside and tag == "button":
            print("lane", data)
        elif "title" in [t for t, _ in self.path]:
            print("title", data)
        elif "now" in inside and tag == "td":
            print("now", data)
        elif "over" in inside:
            print("over", data)
        elif "limits" in inside and tag == "li":
            print("limit", data)
        elif "apps" in inside and tag == "td":
            print("app", data)
        elif "queue" in inside:
            print("queue", data)
        elif tag == "summary":
            print("decision", data)
        elif any(name.endswith("-legend") for name in inside):
            print("legend", data)
        elif "state" in inside or "counts" in inside:
            print("head", data)

Look().feed(open(sys.argv[1], encoding="utf-8").read())
END
browse --dump-dom >"$dir/page.html"
seen=$(python3 "$dir/look.py" "$dir/page.html")
is "the page is rendered completely" "$(grep '^ready' <<<"$seen")" "ready yes"
is "the page shows no error" "$(grep '^error' <<<"$seen")" ""
for chart in memory cpu pressure; do
    at_least "the page has a chart: $chart" "$(grep -c "^canvas $chart" <<<"$seen")" 1
done
for line in used 'used or reserved' 'guaranteed allocated' 'α over-allocation threshold' 'β preemption threshold'; do
    is "the legends of both charts have an entry: $line" "$(grep -cx "legend $line" <<<"$seen")" 2
done
is "the page has a lane with the name of each container" "$(grep '^lane' <<<"$seen" | sort)" \
    "$(sort <<<'lane web-server
lane batch-1
lane batch-2
lane short: Failed (3)')"
is "the lanes show the states and execution types of containers" \
    "$(grep -E '^piece (running|paused|queued),' <<<"$seen" | sort -u | paste -sd' ')" \
    "$(printf 'piece %s ' 'paused, opportunistic' 'queued, guaranteed' 'queued, opportunistic' 'running, guaranteed' \
        'running, opportunistic' | sed 's/ $//')"
is "the title of the page has the host name" "$(grep '^title' <<<"$seen")" "title nmd on $(hostname)"
is "the figures of the page are the figures of nmctl status" "$(grep '^now' <<<"$seen" | sed -n '1p;8,9p;16p' | cut -c5- | xargs)" \
    "Memory 1000 MiB CPU 2 vcores"
like "the page shows used CPU in cores" "$(grep '^now' <<<"$seen" | sed -n 10p)" '^now [0-9.]+ cores$'
is "the page shows the limits that are not enforced" "$(grep '^limit' <<<"$seen" | cut -c7-)" "$(status_of '.node.notes[]')"
is "the page shows the use and the requests of an application" \
    "$(grep '^app' <<<"$seen" | cut -c5- | sed -n '1,5p;7,8p' | xargs)" "application_1410901177871_0001 0 1 1 0 500 MiB 1"
like "the page shows the queued containers" "$(grep '^queue' <<<"$seen")" '^queue batch-2: 300 MiB, 0.5 vcores'
like "the page shows the latest decisions" "$(grep '^decision' <<<"$seen")" 'paus.*batch-1.*CPU'
like "the page shows the state of the node" "$(grep '^head' <<<"$seen")" '^head running'
like "the page shows the numbers of running, paused and queued containers" \
    "$(grep '^head' <<<"$seen")" '1 guaranteed and 0 opportunistic run, 1 paused, 1 queued'

# URLs in the text of the library's licence are allowed. A page loads URLs only from attributes and by fetch().
is "no attribute in the page has a URL of another host" "$(grep '^refers to' <<<"$seen")" ""
curl -sS "http://127.0.0.1:$port/" -D "$dir/head" >"$dir/source.html"
is "no script in the page has a URL of another host" "$(grep -oE '(https?:)?//[a-z0-9.-]+\.[a-z]{2,}[^ "]*' "$dir/source.html" |
    grep -v '/LICENSE' | sort -u)" ""

is "the page has no warning about memory while memory use is below the threshold" "$(grep '^over' <<<"$seen")" ""
for line in 'memory, some task waited' 'memory, all waited at once' 'CPU, some task waited'; do
    is "the pressure chart has a line: $line" "$(grep -cx "legend $line" <<<"$seen")" 1
done

# A promotion changes the colour of the lane after the promotion, and not the colour before it.
nmctl promote batch-1 >/dev/null
wait_until 10 in_state batch-1 RUNNING
# Other processes use memory above the threshold, and no opportunistic container has memory that nmd could take back.
node_memory 980
wait_until 10 status_is '.node.preemption_hold_text // "" | test("no opportunistic container holds memory")' true
browse --dump-dom >"$dir/page.html"
like "the lane of a promoted container changes its colour at the promotion" "$(python3 "$dir/look.py" "$dir/page.html" |
    awk '/^lane/ { mine = $2 == "batch-1" } mine && /^piece/' | cut -c7- | paste -sd' ')" \
    '^new, opportunistic queued, opportunistic .*running, opportunistic .*paused, opportunistic .*running, guaranteed$'

like "the page shows memory use above the threshold, and why no container is killed" "$(python3 "$dir/look.py" "$dir/page.html" |
    grep '^over')" 'above the preemption threshold of 95 %, but nmd takes no memory back: no opportunistic container'

# A container waits until its request fits. The page has the same text as nmctl, with the total in percent of the node.
node_cpu 0
node_memory 0
submit large --opportunistic -m 920M -c 1 -- sleep 300
wait_until 20 queue_reason_is large would-exceed-beta
browse --dump-dom >"$dir/page.html"
over='with the 920 MiB that it asks for would be at [0-9.]+ %, over the limit of 95 %'
like "the page shows how much of the node a waiting request would use" "$(python3 "$dir/look.py" "$dir/page.html" | grep '^queue large')" \
    "^queue large: 920 MiB, 1 vcore — memory.* is at [0-9.]+ % of capacity, and $over\$"

picture=$dir/page.png
[ -z "${NMD_TEST_KEEP:-}" ] || { mkdir -p "$NMD_TEST_KEEP"; picture=$NMD_TEST_KEEP/page.png; }
browse --screenshot="$picture" >&2
is "the browser can save a picture of the page" "$(head -c 4 "$picture" | tail -c 3)" PNG
at_least "the picture of the page is not empty" "$(stat -c %s "$picture")" 20000

check "nmd is running at the end" nmd_alive
done_testing
