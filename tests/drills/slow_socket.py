#!/usr/bin/env python3
"""Stands between a client and a unix socket, and passes bytes on as slowly as a file says, for tests of slow stores.

usage: slow_socket.py LISTEN CONNECT RULE

RULE is a file with two numbers, read again for every piece of data: milliseconds that it waits, and bytes that it has at
most (0: any).
"""
import asyncio
import pathlib
import sys

listen, connect, rule = sys.argv[1:]


async def pass_on(reader, writer):
    try:
        while True:
            milliseconds, most = (int(word) for word in pathlib.Path(rule).read_text().split())
            data = await reader.read(most or 65536)
            if not data:
                break
            await asyncio.sleep(milliseconds / 1000)
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    writer.close()


async def serve(reader, writer):
    try:
        store_reader, store_writer = await asyncio.open_unix_connection(connect)
    except OSError:
        writer.close()
        return
    await asyncio.gather(pass_on(reader, store_writer), pass_on(store_reader, writer))


async def main():
    server = await asyncio.start_unix_server(serve, listen)
    async with server:
        await server.serve_forever()


asyncio.run(main())
