"""`.venv/bin/python tests/site/picture.py`: take the README's picture from the built site."""

import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.site.pages import SITE, prefix  # noqa: E402  (this is a script)
from tests.site.serve import Server  # noqa: E402

PAGE, FIGURE, TARGET = "learn/one-token/", "#fig-lanes .kv-frame", ROOT / ".github" / "lanes.png"


def main() -> None:
    """Open the page as it is when it arrives and photograph the figure."""
    finder = [sys.executable, str(ROOT / "requirements" / "browser.py")]
    browser_path = subprocess.run(finder, capture_output=True, text=True, check=True).stdout.strip()
    with Server(SITE, prefix()) as server, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900}, device_scale_factor=1.5)
        page.goto(server.address + PAGE, wait_until="networkidle")
        page.add_style_tag(content=f"{FIGURE} {{ padding: 12px; margin-inline: -12px }}")
        page.locator(FIGURE).screenshot(path=TARGET, animations="disabled")
        browser.close()
    print(f"{TARGET.relative_to(ROOT)}: {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
