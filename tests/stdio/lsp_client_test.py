#!/usr/bin/env python3
"""`flightplan lsp` by a public client, pygls, whose types (lsprotocol) refuse an answer that is not the protocol's.

usage: lsp_client_test.py FLIGHTPLAN_BINARY
"""
import asyncio
import os
import sys

from stdio_process import go_on_with_clients

FLIGHTPLAN = os.path.abspath(sys.argv[1])
URI = "file:///home/user/train.sh"
TEXT = ("#!/bin/bash\n# flightplan: --gpu h100-sxm --gpus 24\ntorchrun --nproc-per-node 8 pretrain_gpt.py --num-layers 24 \\\n"
        "  --hidden-size 1024 --num-attention-heads 16 --num-experts 64 --expert-model-parallel-size 16 \\\n"
        "  --recompute-granularity full --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 1 \\\n"
        "  --lr 1e-4 --train-iters 10 --mock-data --tokenizer-type NullTokenizer --vocab-size 32000\n")


async def main():
    from lsprotocol import types as lsp
    from pygls.lsp.client import LanguageClient

    client = LanguageClient("test", "1")
    published = asyncio.Queue()

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def on_diagnostics(params):
        published.put_nowait(params)

    await client.start_io(FLIGHTPLAN, "lsp")
    hello = await client.initialize_async(lsp.InitializeParams(capabilities=lsp.ClientCapabilities()))
    assert hello.capabilities.position_encoding == lsp.PositionEncodingKind.Utf16, hello
    client.initialized(lsp.InitializedParams())
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(URI, "shellscript", 1, TEXT)))
    found = await asyncio.wait_for(published.get(), 60)
    rules = {one.code for one in found.diagnostics}
    assert {"mesh.expert-world-divisible", "recompute.full-needs-method"} <= rules, rules
    document = lsp.TextDocumentIdentifier(URI)
    hover = await client.text_document_hover_async(lsp.HoverParams(document, lsp.Position(4, 5)))
    assert "recompute_granularity" in hover.contents.value, hover
    offered = await client.text_document_completion_async(lsp.CompletionParams(document, lsp.Position(4, 12)))
    assert "--recompute-granularity" in {item.label for item in offered.items}, offered
    actions = await client.text_document_code_action_async(lsp.CodeActionParams(
        document, found.diagnostics[0].range, lsp.CodeActionContext(found.diagnostics)))
    edits = actions[0].edit.document_changes[0].edits
    lines = TEXT.splitlines(keepends=True)
    for edit in reversed(edits):
        lines[edit.range.start.line:edit.range.end.line] = [edit.new_text]
    change = lsp.TextDocumentContentChangeWholeDocument("".join(lines))
    client.text_document_did_change(lsp.DidChangeTextDocumentParams(lsp.VersionedTextDocumentIdentifier(2, URI), [change]))
    after = await asyncio.wait_for(published.get(), 60)
    assert after.version == 2 and not [one for one in after.diagnostics if one.severity == lsp.DiagnosticSeverity.Error], after
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    print(f"ok: {len(found.diagnostics)} findings, {len(edits)} edits, none of level error after them")


if __name__ == "__main__":
    go_on_with_clients(FLIGHTPLAN)
    asyncio.run(main())
