"""A small web server for the built site: threads, gzip and 404.html, as a host of static pages would answer."""

import gzip
import mimetypes
import sys
from functools import lru_cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

COMPRESSED = {".html", ".css", ".js", ".json", ".svg", ".csv", ".xml", ".txt", ".map"}


@lru_cache(maxsize=512)
def compressed(path: Path, modified: float) -> bytes:
    """The gzipped file; `modified` is part of the key so that a rebuilt site is read again."""
    return gzip.compress(path.read_bytes(), 6)


class Handler(BaseHTTPRequestHandler):
    """Answers GET from `root`, which is published under `prefix` (with slashes at both ends)."""

    protocol_version = "HTTP/1.1"
    root: Path
    prefix: str

    def file_for(self, url: str) -> Path | None:
        """The file behind an address, or None if there is none (or it lies outside)."""
        path = unquote(urlsplit(url).path)
        if not path.startswith(self.prefix):
            return None
        file = (self.root / path[len(self.prefix) :]).resolve()
        if not file.is_relative_to(self.root):
            return None
        if file.is_dir():
            file = file / "index.html"
        return file if file.is_file() else None

    def do_GET(self) -> None:
        file = self.file_for(self.path)
        status = 200 if file else 404
        file = file or self.root / "404.html"
        body, headers = file.read_bytes(), {}
        if file.suffix in COMPRESSED and "gzip" in self.headers.get("Accept-Encoding", ""):
            body, headers = compressed(file, file.stat().st_mtime), {"Content-Encoding": "gzip"}
        self.send_response(status)
        headers["Content-Type"] = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        headers["Content-Length"] = str(len(body))
        headers["Cache-Control"] = "max-age=600"
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Say nothing: the tests look at the browser's side."""


class Server(ThreadingHTTPServer):
    """Serves while the block runs; `address` is the site's first page, with the slash at its end."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, root: Path, prefix: str = "/", port: int = 0) -> None:
        handler = type("SiteHandler", (Handler,), {"root": root.resolve(), "prefix": prefix})
        super().__init__(("127.0.0.1", port), handler)
        self.origin = f"http://127.0.0.1:{self.server_address[1]}"
        self.address = self.origin + prefix

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that closes a page cuts its connections; that is no error here, anything else is."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]

    def __enter__(self) -> "Server":
        Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_arguments: object) -> None:
        self.shutdown()
        self.server_close()
