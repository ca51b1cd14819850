import contextlib
import types

SDPBackend = types.SimpleNamespace(CUDNN_ATTENTION="cudnn")
chosen = []


@contextlib.contextmanager
def sdpa_kernel(backend):
    chosen.append(backend)
    yield
    chosen.pop()
