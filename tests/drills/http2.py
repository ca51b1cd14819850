"""HTTP/2 as bytes, for clients that a library would not let misbehave (RFC 9113, sections 3.4 and 4.1)."""
import os

ADDRESS = os.environ.get("DRILL_FROM", "127.0.0.2")  # whence strangers and bad tenants come


def frame(kind, flags, stream, payload):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


DATA, HEADERS, RST_STREAM, SETTINGS, PING, CONTINUATION = 0, 1, 3, 4, 6, 9
END_STREAM, END_HEADERS, ACK = 1, 4, 1
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
OPENING = PREFACE + frame(SETTINGS, 0, 0, b"")  # what a client says first


# The same of a client that will read nothing of any answer: SETTINGS_INITIAL_WINDOW_SIZE 0.
DEAF_OPENING = PREFACE + frame(SETTINGS, 0, 0, (4).to_bytes(2, "big") + (0).to_bytes(4, "big"))


def grpc_headers(path, token=""):
    """HPACK of a gRPC call: every field spelt out, nothing remembered."""
    fields = [(":method", "POST"), (":scheme", "http"), (":authority", "a"), (":path", path), ("te", "trailers"),
              ("content-type", "application/grpc")] + ([("authorization", f"Bearer {token}")] if token else [])
    text = lambda s: bytes([len(s)]) + s.encode()  # noqa: E731  shorter than 127 bytes, all of them
    return b"".join(b"\0" + text(name) + text(value) for name, value in fields)


def grpc_message(payload):
    return b"\0" + len(payload).to_bytes(4, "big") + payload


def grpc_call(stream, path, payload, token="", more=False):
    """A call with one message; `more`: others follow."""
    return (frame(HEADERS, END_HEADERS, stream, grpc_headers(path, token)) +
            frame(DATA, 0 if more else END_STREAM, stream, grpc_message(payload)))


def reset_streams(count, headers):
    """The bytes of each of `count` streams that are opened with these headers (HPACK) and reset at once."""
    cancel = (8).to_bytes(4, "big")
    for stream in range(1, 2 * count, 2):
        yield frame(HEADERS, END_HEADERS, stream, headers) + frame(RST_STREAM, 0, stream, cancel)
