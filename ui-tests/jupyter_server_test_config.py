"""What JupyterLab's own test helpers need in the page; addresses and folders come as arguments."""

from jupyterlab.galata import configure_jupyter_server

configure_jupyter_server(c)  # noqa: F821 - the configuration object of traitlets
c.ServerApp.allow_unauthenticated_access = False  # noqa: F821
