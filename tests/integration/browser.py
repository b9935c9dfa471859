# SPDX-License-Identifier: Apache-2.0
"""Drives a headless Chromium as a user would: with keys and clicks, and without calls into the page. Uses the DevTools
protocol over two pipes. The browser can resolve no host except this one."""
import base64
import json
import os
import select
import subprocess
import tempfile
import time

KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, "Space": 32, "ArrowDown": 40}


class Browser:
    def __init__(self, chromium, where, width=1280, height=1000, dark=False, phone=False):
        self.number, self.asked, self.complaints = 0, [], []
        ours, theirs = os.pipe(), os.pipe()

        def pipes():  # the protocol uses descriptors 3 and 4; neither dup2() may close the other pipe
            reads, writes = os.dup(ours[0]), os.dup(theirs[1])
            reads, writes = os.dup2(reads, 103), os.dup2(writes, 104)
            os.dup2(reads, 3)
            os.dup2(writes, 4)

        self.process = subprocess.Popen(
            [chromium, "--headless", "--no-sandbox", "--hide-scrollbars", "--disable-gpu", "--disable-quic", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
             "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost", "--remote-debugging-pipe",
             f"--user-data-dir={tempfile.mkdtemp(prefix='browser.', dir=where)}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(os.path.join(where, "chromium.err"), "ab"),
            close_fds=False, preexec_fn=pipes)
        os.close(ours[0])
        os.close(theirs[1])
        self.write, self.read, self.rest, self.session = ours[1], theirs[0], b"", None
        target = self("Target.createTarget", url="about:blank")["targetId"]
        self.session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Network", "Page", "Runtime", "Log", "Accessibility"):
            self(domain + ".enable")
        self("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        self.colours(dark)

    def colours(self, dark):
        self.dark = dark
        self("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def close(self):
        self.process.terminate()
        self.process.wait()

    def message(self, until):
        while b"\0" not in self.rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.read], [], [], left)[0]:
                raise TimeoutError("the browser sent no message in time")
            data = os.read(self.read, 1 << 20)
            if not data:
                raise EOFError("the browser has exited")
            self.rest += data
        line, self.rest = self.rest.split(b"\0", 1)
        return json.loads(line)

    def __call__(self, method, **params):
        self.number += 1
        wanted, whole = self.number, {"id": self.number, "method": method, "params": params}
        if self.session:
            whole["sessionId"] = self.session
        os.write(self.write, json.dumps(whole).encode() + b"\0")
        until = time.monotonic() + 60
        while True:
            answer = self.message(until)
            if answer.get("id") == wanted:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.handle_event(answer.get("method"), answer.get("params", {}))

    def handle_event(self, what, params):
        if what == "Network.requestWillBeSent":
            self.asked.append(params["request"]["url"])
        elif what == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif what == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.complaints.append(params["entry"]["text"] + " " + params["entry"].get("url", ""))

    def ask(self, expression):
        result = self("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']['exception'].get('description')}")
        return result["result"].get("value")

    def becomes(self, expression, seconds):
        """Returns whether the expression becomes true within this time."""
        try:
            self.until(expression, seconds)
        except TimeoutError:
            return False
        return True

    def until(self, expression, seconds=30):
        end = time.monotonic() + seconds
        while not (value := self.ask(expression)):
            if time.monotonic() > end:
                raise TimeoutError(f"never true: {expression}")
            time.sleep(0.05)
        return value

    def open(self, url):
        self("Page.navigate", url=url)
        try:
            self.until("document.body && document.body.dataset.ready === 'yes'", 60)
        except TimeoutError:
            shown = self.ask("document.body && document.body.innerText.slice(0, 400)")
            raise TimeoutError(f"the page isn't ready: it shows {shown!r}; {self.complaints}; it asked for {[u for u in self.asked if not u.startswith('data:')][-12:]}") from None

    def key(self, name, shift=False):
        text = {"Enter": "\r", "Space": " "}.get(name)
        about = {"key": " " if name == "Space" else name, "code": name, "windowsVirtualKeyCode": KEYS[name], "modifiers": 8 * shift}
        self("Input.dispatchKeyEvent", type="keyDown", **about, **({"text": text} if text else {}))
        self("Input.dispatchKeyEvent", type="keyUp", **about)

    def type(self, text):
        self("Input.insertText", text=text)

    def click(self, selector):
        x, y = self.ask(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center'}});"
                        " const r = e.getBoundingClientRect(); return [r.x + Math.min(r.width / 2, 20), r.y + Math.min(r.height / 2, 10)]; })()")
        for kind in ("mousePressed", "mouseReleased"):
            self("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def accessible_nodes(self):
        """Returns (role, name) of each element that a screen reader does not ignore."""
        nodes = self("Accessibility.getFullAXTree")["nodes"]
        return [(n["role"]["value"], n.get("name", {}).get("value", "")) for n in nodes if not n.get("ignored")]

    def picture(self, path, whole=True):
        data = self("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as f:
            f.write(base64.b64decode(data))
