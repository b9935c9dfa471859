#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the table of lending on the status page, as a real browser draws it, with nmctl status:

    lending-page.py CHROMIUM DIR URL NMCTL [PICTURE]

The lines on standard output are results (master.py). A PICTURE shows the table."""
import base64
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../integration"))
from browser import Browser

chromium, where, url, nmctl = sys.argv[1:5]
TABLE = "[...document.querySelectorAll('#lending tbody tr')].map(r => [...r.cells].map(c => c.innerText))"


def fact(name, got, wanted):
    print(f"{name}\t{got}\t{wanted}", flush=True)


def row_of(pipeline):
    """Returns the row of an attempt without the memory, and with the number of lines of the last column."""
    lending = pipeline["lending"]
    held = sum(k["wanted"] > k["asked"] + k["observed"] for k in lending["keys"])
    more = held - min(held, 3) + lending["keys_total"] - len(lending["keys"])
    return [pipeline["attempt_id"], lending["rule"]] + [str(lending[name]) for name in (
        "lent", "queued", "wanted", "promoted", "preempted")] + [min(held, 3) + (more > 0)]


b = Browser(chromium, where)
b.open(url)
b.until(TABLE + ".length > 0")
status = json.loads(subprocess.run([nmctl, "status", "--json"], capture_output=True, text=True, check=True).stdout)
expected = [row_of(p) for p in status["upstream"]["masters"]["pipelines"] if p["lending"]]
shown = [r[:3] + r[4:8] + [len(r[8].splitlines())] for r in b.ask(TABLE)]
fact("the page shows what is lent to each attempt", sorted(shown), sorted(expected))
fact("an attempt has several lines about what is not lent", max(len(r[8].splitlines()) for r in b.ask(TABLE)) > 1, True)
for width in 1280, 720, 360:
    b("Emulation.setDeviceMetricsOverride", width=width, height=1000, deviceScaleFactor=1, mobile=False)
    fact(f"the table of lending fits into a window of {width} pixels",
         b.ask("(e => e.scrollWidth <= e.clientWidth)(document.getElementById('lending'))"), True)
    if width == 1280 and len(sys.argv) > 5:
        clip = b.ask("(r => ({x: 0, y: r.top + scrollY, width: innerWidth, height: r.height, scale: 1}))"
                     "(document.getElementById('lending').getBoundingClientRect())")
        with open(sys.argv[5], "wb") as f:
            f.write(base64.b64decode(b("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]))
fact("the browser reports no error", b.complaints, [])
b.close()
