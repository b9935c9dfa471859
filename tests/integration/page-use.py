#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""page-use.py CHROMIUM DIR URL desktop|phone|tcp|stranger: uses the status page like a person, and prints what the page shows
as lines "NAME: VALUE", which the suite checks. Writes pictures to DIR."""
import json
import sys

from browser import Browser

chromium, where, url, part = sys.argv[1:]


def fact(name, value):
    print(f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}", flush=True)


NAMES = "[...document.querySelectorAll('#list tbody .name')].map(e => e.textContent)"
CELL = "[...document.querySelectorAll('#list tbody tr')].find(r => r.querySelector('.name').textContent === {0}).querySelector('td[data-label^={1}]').innerText"
DETAIL = "document.getElementById('detail')"


def cell(b, name, label):
    return " ".join(b.ask(CELL.format(json.dumps(name), json.dumps(label))).split())


def focused(b):
    return b.ask("(e => e.id || e.textContent)(document.activeElement)")


def search(b, text):
    b.click("#search")
    b.ask("document.getElementById('search').select()")
    b.type(text)


def choose(b, selector, value):
    b.ask(f"(e => {{ e.value = {json.dumps(value)}; e.dispatchEvent(new Event('input')); }})(document.querySelector({json.dumps(selector)}))")


def look_at_list(b):
    b.until(NAMES + ".length >= 5")
    fact("names", b.ask(NAMES))
    fact("fits", b.ask("(e => e.scrollWidth <= e.clientWidth)(document.querySelector('.scroll'))"))
    for name in ("web-server", "batch-1", "batch-2", "short"):
        fact("state of " + name, cell(b, name, "State"))
    fact("user", cell(b, "web-server", "User"))
    fact("memory", cell(b, "web-server", "Memory"))
    fact("cores", cell(b, "batch-1", "Cores"))
    fact("age", cell(b, "web-server", "Age"))
    fact("exit", cell(b, "short", "Exit"))
    fact("why", cell(b, "batch-2", "Why"))


def sort_and_filter(b):
    b.click("#list th[data-key=memory] button")
    fact("by memory", b.ask(NAMES)[0])
    fact("sorted", b.ask("[...document.querySelectorAll('#list th')].filter(e => e.ariaSort !== 'none').map(e => e.dataset.key + ' ' + e.ariaSort).join()"))
    b.click("#list th[data-key=memory] button")
    fact("the other way", b.ask("document.querySelector('#list th[data-key=memory]').ariaSort"))
    fact("to be searched", b.ask("document.getElementById('search').placeholder"))
    search(b, "application_1410901177871_0001 BATCH")
    fact("searched", sorted(b.ask(NAMES)))
    fact("matches", b.ask("document.getElementById('found').textContent"))
    search(b, " ")
    choose(b, "#filter-state", "QUEUED")
    fact("queued", b.ask(NAMES))
    choose(b, "#filter-state", "Failed")
    fact("failed", b.ask(NAMES))
    choose(b, "#filter-state", "live")
    choose(b, "#filter-type", "GUARANTEED")
    fact("guaranteed", sorted(b.ask(NAMES)))
    choose(b, "#filter-type", "")
    choose(b, "#filter-state", "")


def use_keys(b):
    """Goes by keys from the search to a row, opens and closes it, and reports where the focus is after some refreshes."""
    b.ask("document.getElementById('search').focus()")
    for _ in range(30):
        b.key("Tab")
        if b.ask("document.activeElement.className") == "name":
            break
    name = focused(b)
    fact("focus is on a row", name in b.ask(NAMES))
    b.key("Enter")
    b.until(DETAIL + ".open")
    fact("focus is inside", b.ask(DETAIL + ".contains(document.activeElement)"))
    b.key("Escape")
    b.until(f"!{DETAIL}.open")
    fact("focus comes back", focused(b) == name)
    b.ask("window.seen = 0; new MutationObserver(() => window.seen++).observe(document.getElementById('list'), { subtree: true, characterData: true, childList: true })")
    b.until("window.seen > 0")
    b.click("#list th[data-key=name] button")
    b.key("Tab")
    fact("keys sort", (b.ask("document.querySelector('#list th[data-key=app] button').focus()"), b.key("Space"),
                       b.ask("document.querySelector('#list th[data-key=app]').ariaSort"))[2])
    b.ask("document.querySelector('#list tbody .name').focus()")
    name, before = focused(b), b.ask("window.seen")
    b.until(f"window.seen > {before}")
    fact("focus stays", focused(b) == name)


def open_row(b, name):
    find = f"[...document.querySelectorAll('#list tbody tr')].find(r => r.querySelector('.name').textContent === {json.dumps(name)}).id = 'wanted'"
    # The page may move the row after its place was read and before the click arrives. Like a user, the test then clicks again.
    for _ in range(10):
        b.ask(find)
        b.click("#wanted .text:nth-child(3)" if part != "phone" else "#wanted .name")
        b.ask("document.getElementById('wanted').removeAttribute('id')")
        if b.becomes(f"{DETAIL}.open", 2):
            break
    b.until(f"{DETAIL}.open && document.getElementById('detail-decisions').children.length > 0")


def text(b, id):
    return " ".join(b.ask(f"document.getElementById({json.dumps(id)}).innerText").split())


def look_at_detail(b):
    open_row(b, "batch-1")
    b.until("document.getElementById('detail-decisions').innerText.includes('Paused')")
    fact("its name", text(b, "detail-name"))
    fact("it is", text(b, "detail-now"))
    fact("facts", text(b, "detail-facts"))
    fact("decided", text(b, "detail-decisions"))
    contrast(b, "container")
    b.picture(f"{where}/{part}-detail.png", whole=False)
    b.key("Escape")
    open_row(b, "nasty")
    fact("output is shown", not b.ask("document.getElementById('detail-output').hidden"))
    if part == "tcp":
        return
    b.until("document.getElementById('detail-log').textContent.includes('</pre>')")
    fact("stdout", b.ask("document.getElementById('detail-log').textContent"))
    b.click("#detail-output button[data-stream=stderr]")
    b.until("document.getElementById('detail-log').textContent.includes('second')")
    fact("stderr", b.ask("document.getElementById('detail-log').textContent"))
    fact("pressed", b.ask("document.querySelector('#detail-output [aria-pressed=true]').textContent"))
    b.key("Escape")


def look_at_past(b):
    fact("ended app", " ".join(b.ask("[...document.querySelectorAll('#apps tbody tr')].find(r => r.innerText.includes('_0002')).innerText").split()))
    fact("range", b.ask("document.querySelector('.range [aria-pressed=true]').textContent + ', ' + document.getElementById('axis').innerText.split('\\n')[0]"))
    for minutes, first in ((60, "1 h ago"), (360, "6 h ago"), (1440, "1 d ago")):
        b.click(f".range [data-minutes='{minutes}']")
        b.until(f"document.getElementById('axis').innerText.startsWith('{first}')")
    fact("range of a day", b.ask("document.querySelector('.range [aria-pressed=true]').textContent"))
    b.until("performance.getEntriesByType('resource').some(e => e.name.endsWith('/v1/history?span_usec=86400000000'))")
    b.picture(f"{where}/{part}-day.png")
    b.click(".range [data-minutes='10']")


def look_at_tcp(b):
    fact("heads", b.ask("[...document.querySelectorAll('#list th')].map(e => e.dataset.key).join()"))
    fact("to be searched", b.ask("document.getElementById('search').placeholder"))
    look_at_detail(b)
    fact("text", "marked" in b.ask("document.body.innerText"))


def look_at_nothing(b):
    """Opens the page as a user without containers."""
    fact("matches", b.ask("document.getElementById('found').textContent"))
    fact("error", b.ask("document.getElementById('error').textContent"))
    fact("decisions", b.ask("document.getElementById('decisions').offsetWidth"))
    fact("apps", b.ask("document.getElementById('apps').hidden"))
    b.until("performance.getEntriesByType('resource').filter(e => e.name.endsWith('/v1/status')).length > 1")
    fact("asked once", len([u for u in b.asked if "/v1/decisions" in u]))


def is_harmless(b):
    fact("made markup", b.ask("document.querySelectorAll('#made, main b, main img, dialog img').length"))
    fact("ran", b.ask("'ran' in window"))


def print_names(b):
    nodes = b.accessible_nodes()
    for role in ("main", "table", "searchbox", "rowgroup"):
        fact("hears " + role, any(r == role for r, _ in nodes))
    fact("hears heads", [n for r, n in nodes if r == "columnheader" and n.startswith(("Container", "State", "Why"))])
    fact("hears charts", [n for r, n in nodes if r in ("img", "image") and "capacity used" in n][:1])
    fact("without a name", [r for r, n in nodes if r in ("button", "searchbox", "combobox", "table", "dialog") and not n])


def is_readable(b, width):
    fact("width", b.ask("document.documentElement.scrollWidth") <= width)
    # a word that is broken letter by letter is in a box that is many times higher than wide
    fact("narrow", b.ask("[...document.querySelectorAll('td, .name, li, dd, h2')].filter(e => e.offsetWidth > 0 && e.innerText.length > 3 && e.offsetWidth < 40).map(e => e.innerText)"))
    fact("small", b.ask("[...document.querySelectorAll('td, li, dd, button, label')].filter(e => e.offsetWidth > 0 && parseFloat(getComputedStyle(e).fontSize) < 12).length"))


def contrast(b, of):
    """Returns the lowest contrast between a text and its background (WCAG requires 4.5), in light and in dark colours."""
    for dark in (not b.dark, b.dark):
        b.colours(dark)
        b.picture(f"{where}/{part}-{of}-{'dark' if dark else 'light'}.png", whole=False)
        fact(f"contrast of the {of}, {'dark' if dark else 'light'}", least_contrast(b))


def least_contrast(b):
    return b.ask("""(() => {
        const parts = c => (c.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number), light = c => { const [r, g, b] = c.map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
            return .2126 * r + .7152 * g + .0722 * b; };
        const ground = e => { for (; e; e = e.parentElement) { const c = parts(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
        let least = [99, ''];
        for (const e of document.querySelectorAll('main *, dialog[open] *')) {
            if (!e.offsetWidth || e.closest('.chart, .unseen') || ![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim())) continue;
            const a = light(parts(getComputedStyle(e).color).slice(0, 3)), g = light(ground(e).slice(0, 3)), c = (Math.max(a, g) + .05) / (Math.min(a, g) + .05);
            if (c < least[0]) least = [c, e.tagName + '.' + e.className + ' ' + e.textContent.slice(0, 30)];
        }
        return least[0] >= 4.5 ? 'good' : least.join(' '); })()""")


def walk(b):
    if part == "tcp":
        look_at_tcp(b)
        return
    if part == "stranger":
        look_at_nothing(b)
        return
    look_at_list(b)
    contrast(b, "list")
    print_names(b)
    b.picture(f"{where}/{part}.png")
    if part == "phone":
        b.ask("document.getElementById('list-title').scrollIntoView()")
        b.picture(f"{where}/{part}-list.png", whole=False)
        is_readable(b, 360)
        look_at_detail(b)
        return
    sort_and_filter(b)
    use_keys(b)
    look_at_past(b)
    look_at_detail(b)


b = Browser(chromium, where, width=360 if part == "phone" else 1280, height=740 if part == "phone" else 1000, dark=part == "phone", phone=part == "phone")
try:
    b.open(url)
    walk(b)
    is_harmless(b)
    host = url.split("/")[2]
    fact("asked elsewhere", sorted({u for u in b.asked if not u.startswith(("http://" + host + "/", "data:", "about:"))}))
    fact("complaints", b.complaints)
finally:
    b.close()
