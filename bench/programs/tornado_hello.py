"""B11's peer: a Jupyter server whose only extension says hello; prints a line when it listens."""

from __future__ import annotations

import sys

from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.serverapp import ServerApp


class Hello(JupyterHandler):
    """Answers hello."""

    def get(self) -> None:
        self.finish("hello")


def main() -> None:
    folder = sys.argv[1]
    app = ServerApp(
        ip="127.0.0.1",
        port=0,
        open_browser=False,
        allow_root=True,
        root_dir=folder,
        log_level="ERROR",
    )
    app.initialize(argv=[], find_extensions=False)
    app.web_app.add_handlers(".*", [("/hello", Hello)])
    app.io_loop.add_callback(lambda: print("listening", flush=True))
    app.start()


if __name__ == "__main__":
    main()
