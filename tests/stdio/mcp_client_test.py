#!/usr/bin/env python3
"""`flightplan mcp` by the Model Context Protocol's official Python client, which checks every answer against its schema.

usage: mcp_client_test.py FLIGHTPLAN_BINARY
"""
import asyncio
import os
import sys

from stdio_process import go_on_with_clients

FLIGHTPLAN = os.path.abspath(sys.argv[1])
SIZE = {"model": "qwen3-30b-a3b", "gpu": "h100-sxm", "gpus": 16}
LAUNCH = ("torchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 24 --hidden-size 1024 --num-attention-heads 16 "
          "--num-experts 64 --expert-model-parallel-size 16 --recompute-granularity full")
CALLS = [
    ("resolve", {**SIZE, "tp": 1, "pp": 2, "ep": 8}),
    ("validate", {"text": LAUNCH, "gpu": "h100-sxm", "gpus": 24}),
    ("fix", {"text": LAUNCH, "gpu": "h100-sxm", "gpus": 24}),
    ("compare", {**SIZE, "tp": 1, "pp": 2, "a": {"ep": 4}, "b": {"ep": 8}}),
    ("convert", {"text": LAUNCH, "to": "megatron-bridge"}),
    ("explain", {"name": "recompute_granularity"}),
    ("models", {}),
    ("gpus", {}),
    ("releases", {}),
]


async def main():
    import mcp

    reports = []

    async def progress(done, total, message):
        reports.append(done)

    parameters = mcp.StdioServerParameters(command=FLIGHTPLAN, args=["mcp"], env={"FLIGHTPLAN_PROFILE_DIR": "/nonexistent"})
    async with mcp.stdio_client(parameters) as streams, mcp.ClientSession(*streams) as session:
        hello = await session.initialize()
        assert hello.server_info.name == "flightplan", hello
        tools = (await session.list_tools()).tools
        assert len(tools) == 10, tools
        for tool, arguments in CALLS:
            answer = await session.call_tool(tool, arguments)
            assert not answer.is_error and answer.structured_content, (tool, answer)
        answer = await session.call_tool("plan", {**SIZE, "model": "deepseek-v3", "gpus": 1024}, progress_callback=progress)
        assert answer.structured_content["plans"], answer
        assert reports and reports == sorted(reports), reports
        assert (await session.call_tool("explain", {"name": "no.such-rule"})).is_error
        page, resources = await session.list_resources(), 0
        while True:
            resources += len(page.resources)
            if page.next_cursor is None:
                break
            page = await session.list_resources(params=mcp.types.PaginatedRequestParams(cursor=page.next_cursor))
        assert resources > 1500, resources
        assert len((await session.list_resource_templates()).resource_templates) == 2
        text = (await session.read_resource("flightplan://knob/recompute_granularity")).contents[0].text
        assert "recompute_granularity" in text, text
    # As a client of today begins: it asks for what this server does not have, and falls back.
    async with mcp.Client(parameters) as client:
        assert (await client.call_tool("gpus", {"name": "h100-sxm"})).structured_content["gpus"]
    print(f"ok: revision {hello.protocol_version}, {len(tools)} tools, {resources} resources, {len(reports)} reports of a search")


if __name__ == "__main__":
    go_on_with_clients(FLIGHTPLAN)
    asyncio.run(main())
