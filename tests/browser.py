"""A headless Chromium, driven by its own protocol over a pipe: no package beyond Python's library, no port, no network.

    with Browser() as browser:
        page = browser.open("file:///…/report.html", width=1280, height=800, dark=True)
        page.evaluate("document.title")

`chromium()` is None where no Chromium is installed; a caller then reports that it skipped.
"""

import base64
import collections
import fcntl
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --disable-extensions --hide-scrollbars --remote-debugging-pipe"
).split()  # fmt: skip


def chromium():
    """The path of a Chromium, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Refused(Exception):
    """The browser could not do what it was asked to."""


class Browser:
    """One Chromium with a profile of its own, which ends with the `with`."""

    def __init__(self, timeout=60.0):
        self.timeout, self.number, self.rest, self.events = timeout, 0, b"", collections.deque()

    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory(prefix="lienav-browser-", ignore_cleanup_errors=True)
        # The browser reads commands at descriptor 3 and answers at 4; ours must not be in the way.
        theirs_in, ours_out = (fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in os.pipe())
        ours_in, theirs_out = (fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in os.pipe())

        def place():
            os.dup2(theirs_in, 3)
            os.dup2(theirs_out, 4)

        command = [chromium(), *FLAGS, f"--user-data-dir={self.profile.name}", "about:blank"]
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen(
            command, close_fds=False, preexec_fn=place, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True
        )  # fmt: skip
        os.close(theirs_in)
        os.close(theirs_out)
        self.to, self.come = ours_out, ours_in
        return self

    def __exit__(self, *_):
        try:
            self.ask("Browser.close")
            self.process.wait(10)
        except (Refused, OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.come)
        self.profile.cleanup()

    def ask(self, method, session=None, **parameters):
        """Sends a command and returns its answer; events that come before it are kept in `events`."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + self.timeout
        while True:
            answer = self._next(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise Refused(f"{method}: {answer['error']}")
                return answer["result"]

    def wait_for(self, name, session):
        """Waits for an event and returns what it says."""
        deadline = time.monotonic() + self.timeout
        while True:
            for event in list(self.events):
                if event.get("method") == name and event.get("sessionId") == session:
                    self.events.remove(event)
                    return event["params"]
            self._next(deadline)

    def _next(self, deadline):
        while b"\0" not in self.rest:
            ready, _, _ = select.select([self.come], [], [], max(deadline - time.monotonic(), 0))
            if not ready:
                raise Refused(f"no answer in {self.timeout} s")
            more = os.read(self.come, 1 << 20)
            if not more:
                raise Refused("the browser has ended")
            self.rest += more
        line, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(line)
        if "id" not in message:
            self.events.append(message)
        return message

    def open(self, address, width=1280, height=800, dark=False, touch=False):
        """A page of its own, loaded."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, target)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.ask(f"{domain}.enable")
        scale = 2 if touch else 1
        page.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=touch)
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        page.ask("Emulation.setEmulatedMedia", features=[theme])
        page.load(address)
        return page


class Page:
    """A page in a browser."""

    KEYS = {"ArrowRight": 39, "ArrowLeft": 37, "ArrowUp": 38, "ArrowDown": 40, "Tab": 9, "Home": 36, "End": 35, " ": 32}

    def __init__(self, browser, session, target):
        self.browser, self.session, self.target = browser, session, target

    def ask(self, method, **parameters):
        return self.browser.ask(method, self.session, **parameters)

    def load(self, address):
        self.ask("Page.navigate", url=address)
        self.browser.wait_for("Page.loadEventFired", self.session)

    def evaluate(self, expression):
        """The value of an expression, of a promise when it is kept."""
        done = self.ask("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in done:
            raise Refused(f"{expression}: {done['exceptionDetails']}")
        return done["result"].get("value")

    def settle(self):
        """Two frames, after which everything that was asked for is drawn."""
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def complaints(self):
        """What the console says that is a mistake."""
        self.evaluate("1")
        found = []
        for event in self.browser.events:
            what, said = event.get("method"), event.get("params", {})
            if event.get("sessionId") != self.session:
                continue
            if what == "Runtime.exceptionThrown":
                found.append(str(said["exceptionDetails"].get("exception", said["exceptionDetails"]).get("description")))
            elif what == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning", "assert"):
                found.append(str([argument.get("value") for argument in said["args"]]))
            elif what == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
                found.append(said["entry"]["text"])
        return found

    def requests(self):
        """The addresses that the page has asked for."""
        sent = (e["params"] for e in self.browser.events if e.get("method") == "Network.requestWillBeSent")
        return [said["request"]["url"] for said in sent]

    def press(self, key, times=1):
        for _ in range(times):
            code = self.KEYS.get(key, ord(key[0].upper()))
            text = {"text": key} if len(key) == 1 else {}
            self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **text)
            self.ask("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def mouse(self, what, x, y, **more):
        self.ask("Input.dispatchMouseEvent", type=what, x=x, y=y, **more)

    def drag(self, start, end, steps=5):
        self.mouse("mousePressed", *start, button="left", clickCount=1)
        for k in range(1, steps + 1):
            self.mouse("mouseMoved", *(a + (b - a) * k / steps for a, b in zip(start, end)), button="left")
        self.mouse("mouseReleased", *end, button="left", clickCount=1)

    def box(self, selector):
        """Left, top, width and height of an element, scrolled into view."""
        where = f"""(() => {{ const one = document.querySelector({json.dumps(selector)}); one.scrollIntoView({{block: 'center'}});
            const r = one.getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; }})()"""
        return self.evaluate(where)

    def screenshot(self, path, whole=True):
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **self._clip(whole))
        pathlib.Path(path).write_bytes(base64.b64decode(shot["data"]))

    def _clip(self, whole):
        if not whole:
            return {}
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}

    def pdf(self, path):
        done = self.ask("Page.printToPDF", printBackground=False, preferCSSPageSize=True)
        pathlib.Path(path).write_bytes(base64.b64decode(done["data"]))
