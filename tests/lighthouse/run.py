"""`make lighthouse`: audit every built page; each score at least 95. About 15 s a page.

Performance varies from run to run, so a page that falls short is measured twice more and the median counts.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.site.pages import NOT_BUILT, SITE, named, pages, prefix  # noqa: E402  (this is a script)
from tests.site.serve import Server  # noqa: E402

LOWEST = 95
CATEGORIES = ("performance", "accessibility", "best-practices", "seo")
COMMAND = ROOT / "tests" / "lighthouse" / "node_modules" / "lighthouse" / "cli" / "index.js"


def audit(address: str, browser: str) -> tuple[dict[str, int], list[str]]:
    """Scores from 0 to 100, and the names of the audits that did not pass."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        subprocess.run(
            [str(Path(sys.executable).parent / "node"), str(COMMAND), address, "--quiet", "--output=json",
             f"--output-path={report}", f"--only-categories={','.join(CATEGORIES)}",
             "--chrome-flags=--headless=new --no-sandbox --disable-dev-shm-usage"],
            env=dict(os.environ, CHROME_PATH=browser), check=True, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        result = json.loads(report.read_text())
    scores = {name: round(100 * (result["categories"][name]["score"] or 0)) for name in CATEGORIES}
    short = [name for name, one in result["audits"].items() if one["score"] is not None and one["score"] < 0.9]
    return scores, short


def audit_page(address: str, browser: str) -> tuple[dict[str, int], list[str]]:
    """One audit; if performance falls short, the median of three."""
    scores, short = audit(address, browser)
    if scores["performance"] < LOWEST:
        more = [audit(address, browser)[0]["performance"] for _ in range(2)]
        scores["performance"] = int(median([scores["performance"], *more]))
    return scores, short


def main(wanted: list[str]) -> int:
    """Audit all pages, or those named ("tour", "learn/decode"); exit status 1 if one falls short."""
    if not (SITE / "sitemap.xml").exists():
        sys.exit(NOT_BUILT)
    found = subprocess.run(
        [sys.executable, str(ROOT / "requirements" / "browser.py")], capture_output=True, text=True, check=True
    )
    chosen = [page for page in pages() if page != "404.html" and (not wanted or named(page) in wanted)]
    fell_short = False
    print(f"{'page':28}" + "".join(f"{name:>16}" for name in CATEGORIES))
    with Server(SITE, prefix()) as server:
        for page in chosen:
            scores, short = audit_page(server.address + page, found.stdout.strip())
            held = min(scores.values()) >= LOWEST
            fell_short |= not held
            row = f"{named(page):28}" + "".join(f"{scores[name]:16}" for name in CATEGORIES)
            print(row + ("" if held else f"   {', '.join(short)}"), flush=True)
    return int(fell_short)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
