"""A publisher on the loopback interface."""

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


class Publisher:
    """A folder of files and the address under which they are served."""

    def __init__(self, folder):
        self.folder = Path(folder)
        handler = partial(QuietHandler, directory=str(folder))
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def publish(self, name, content):
        (self.folder / name).write_bytes(content)
        return self.url + name

    def close(self):
        if self.thread.is_alive():
            self.server.shutdown()
            self.thread.join()
            self.server.server_close()


@pytest.fixture
def publisher(tmp_path, monkeypatch):
    pytest.importorskip("pooch")
    monkeypatch.setenv("NO_PROXY", "*")
    folder = tmp_path / "publisher"
    folder.mkdir()
    publisher = Publisher(folder)
    yield publisher
    publisher.close()
