"""Find a Chromium or Chrome for the tests, or install one.

    python requirements/browser.py             print its path
    python requirements/browser.py --install   install one if there is none

Order: $CHROME, an installed browser, Debian's package where apt can, Playwright's own download.
A name on the path is not enough (Ubuntu's `chromium` is a stub for snap): it has to answer --version.
"""
import os
import shutil
import subprocess
import sys

from install import apt_install

NAMES = ("chromium", "google-chrome", "google-chrome-stable", "chromium-browser", "chrome")
MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
NONE = "no Chromium or Chrome was found for the browser tests: install one, or set CHROME to its path."


def starts(path):
    """True if this browser runs here at all."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def playwright_browser():
    """Path of Playwright's own Chromium, whether or not it has been downloaded."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        return driver.chromium.executable_path


def find():
    """Path of a browser that starts, or None."""
    if os.environ.get("CHROME"):
        return os.environ["CHROME"] if starts(os.environ["CHROME"]) else None
    for name in (*NAMES, MAC):
        path = shutil.which(name)
        if path and starts(path):
            return path
    path = playwright_browser()
    return path if os.path.exists(path) and starts(path) else None


def install():
    """A browser's path, installing one if there is none; exits with one sentence if that fails."""
    path = find()
    if path is None and not os.environ.get("CHROME"):
        if apt_install("chromium"):
            path = find()
        if path is None:
            print("set-up: playwright install chromium", flush=True)
            command = [sys.executable, "-m", "playwright", "install", "chromium"]
            if os.geteuid() == 0:
                command.append("--with-deps")
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            path = find()
    if path is None:
        sys.exit("set-up: " + NONE)
    return path


if __name__ == "__main__":
    found = install() if "--install" in sys.argv else find()
    if found is None:
        sys.exit(NONE)
    if "--install" not in sys.argv:
        print(found)
