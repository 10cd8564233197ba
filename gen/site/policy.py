"""The content-security policy: a page loads from its own site only, and runs only the scripts it was built with."""

import base64
import hashlib
import re

PLACE = "KV-CONTENT-SECURITY-POLICY"  # what the theme's template writes, replaced when the page is whole
INLINE_SCRIPT = re.compile(r"<script(?P<attributes>[^>]*)>(?P<body>.*?)</script>", re.DOTALL)
DATA_TYPES = ("application/json", "application/ld+json")  # data, which no policy concerns


def inline_hashes(html: str) -> list[str]:
    """The SHA-256 of every inline script that runs, as a policy names it, sorted."""
    found = set()
    for script in INLINE_SCRIPT.finditer(html):
        attributes = script["attributes"]
        if "src=" not in attributes and not any(kind in attributes for kind in DATA_TYPES):
            digest = hashlib.sha256(script["body"].encode()).digest()
            found.add(f"'sha256-{base64.b64encode(digest).decode()}'")
    return sorted(found)


def policy(html: str) -> str:
    """The policy of one page. Styles may be inline because Plotly sets them; images may be made in the page (PNG)."""
    return "; ".join(
        [
            "default-src 'self'",
            " ".join(["script-src 'self'", *inline_hashes(html)]),
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
        ]
    )


def with_policy(html: str) -> str:
    """The page with its own policy in place."""
    return html.replace(PLACE, policy(html), 1)
