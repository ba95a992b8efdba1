# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium driven through its DevTools protocol over a pipe: no packages but
Python's own. Messages are JSON with a NUL after each."""
import base64
import json
import os
import shutil
import struct
import subprocess
import tempfile
import zlib


def find():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if path:
            return path
    return None


def read_png(raw):
    """Rows of (red, green, blue) of a PNG of 8 bits per channel that is not interlaced."""
    assert raw[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(raw):
        size, kind = struct.unpack(">I4s", raw[at:at + 8])
        if kind == b"IHDR":
            width, height, depth, colours, _, _, interlaced = struct.unpack(">IIBBBBB", raw[at + 8:at + 21])
        elif kind == b"IDAT":
            packed += raw[at + 8:at + 8 + size]
        at += size + 12
    assert depth == 8 and colours in (2, 6) and interlaced == 0
    step, data = (3 if colours == 2 else 4), zlib.decompress(packed)
    line, rows, before = width * step, [], bytearray(width * step)
    for k in range(height):
        kind, row = data[k * (line + 1)], bytearray(data[k * (line + 1) + 1:(k + 1) * (line + 1)])
        for i in range(line):
            a, b, c = (row[i - step] if i >= step else 0), before[i], (before[i - step] if i >= step else 0)
            if kind == 4:
                p = a + b - c
                near = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            else:
                near = (0, a, b, (a + b) // 2)[kind]
            row[i] = (row[i] + near) & 255
        rows.append([tuple(row[i:i + 3]) for i in range(0, line, step)])
        before = row
    return rows


class Browser:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="spad-browser-")
        to_read, self.to = os.pipe()
        self.back, to_write = os.pipe()
        command = [find(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                   "--user-data-dir=" + self.folder, "--remote-debugging-pipe", "about:blank"]

        def wire():  # the browser wants to read from 3 and to write to 4
            a, b = os.dup(to_read), os.dup(to_write)
            os.dup2(a, 3)
            os.dup2(b, 4)

        # the library of a sanitizer, which tests of Python load first, is not for a browser
        clean = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        self.process = subprocess.Popen(command, preexec_fn=wire, close_fds=False, env=clean,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.rest = b""
        self.number = 0
        self.events = []
        self.session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")

    def receive(self):
        while b"\0" not in self.rest:
            more = os.read(self.back, 1 << 20)
            if not more:
                raise RuntimeError("the browser has gone")
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(method + ": " + answer["error"]["message"])
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method):
        while True:
            for k, event in enumerate(self.events):
                if event.get("method") == method:
                    return self.events.pop(k)
            self.events.append(self.receive())

    def open(self, path, width=1280, height=900, dark=False, link=""):
        """`link`: what stands after '#' in the address. The page is loaded anew also where only that differs."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.events = []
        if link:
            self.call("Page.navigate", url="about:blank")
            self.wait_for("Page.loadEventFired")
            self.events = []
        self.call("Page.navigate", url="file://" + os.path.abspath(path) + ("#" + link if link else ""))
        self.wait_for("Page.loadEventFired")

    def run(self, expression):
        """The value of a JavaScript expression; a promise is waited for."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(expression + ": " + json.dumps(answer["exceptionDetails"])[:600])
        return answer["result"].get("value")

    def settle(self):
        """Two frames: what was asked for has been drawn. A page with much data begins after its first paint."""
        self.run("new Promise(f => { const wait = () => document.documentElement.dataset.waiting ? setTimeout(wait, 5) :"
                 "requestAnimationFrame(() => requestAnimationFrame(() => f(1))); wait(); })")

    def mouse(self, kind, x, y, button="none", clicks=0, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=clicks,
                  buttons=1 if kind != "mouseReleased" and button == "left" else 0, **more)

    def hover(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.settle()

    def click(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, "left", 1)
        self.mouse("mouseReleased", x, y, "left", 1)
        self.settle()

    def tap(self, x, y):
        """A finger."""
        self.call("Emulation.setTouchEmulationEnabled", enabled=True)
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
        self.settle()
        self.call("Emulation.setTouchEmulationEnabled", enabled=False)

    def key(self, key, modifiers=0, code=0):
        text = key if len(key) == 1 else "\r" if key == "Enter" else ""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, text=text if kind == "keyDown" else "", modifiers=modifiers,
                      windowsVirtualKeyCode=code)
        self.settle()

    def type(self, text):
        self.call("Input.insertText", text=text)
        self.settle()

    def faults(self):
        """What went wrong on the page since it was opened."""
        self.run("1")
        out = []
        for event in self.events:
            if event.get("method") == "Runtime.exceptionThrown":
                out.append(json.dumps(event["params"])[:800])
            elif event.get("method") == "Runtime.consoleAPICalled" and event["params"]["type"] in ("error", "warning"):
                out.append(json.dumps(event["params"])[:800])
            elif event.get("method") == "Log.entryAdded" and event["params"]["entry"]["level"] in ("error", "warning"):
                out.append(json.dumps(event["params"])[:800])
        return out

    def screenshot(self, path, whole=False):
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(answer["data"]))

    def picture(self, x, y, width, height):
        """What the screen shows of a rectangle of the window: rows of (red, green, blue)."""
        clip = {"x": x + self.run("scrollX"), "y": y + self.run("scrollY"), "width": width, "height": height, "scale": 1}
        answer = self.call("Page.captureScreenshot", format="png", clip=clip)
        return read_png(base64.b64decode(answer["data"]))

    def close(self):
        try:
            self.call("Browser.close")
        except (RuntimeError, OSError):
            pass
        self.process.wait(timeout=20)
        os.close(self.to)
        os.close(self.back)
        shutil.rmtree(self.folder, ignore_errors=True)
