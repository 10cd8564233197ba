"""The config.json that readers paste in the tests, Python's and JavaScript's: 147,456 bytes a token by its own head_dim."""

import json
from pathlib import Path

QWEN3_4B = json.loads((Path(__file__).parent / "qwen3-4b.json").read_text())
