// What a report holds: the command that wrote it, what was asked and answered, and what of it only that command knows.
// Each line is a word and base64 (clients/cli/report.cc): "command", "line", "name", "diff", "call RPC REQUEST ANSWER".
import { fromBinary } from "@bufbuild/protobuf";
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";

export interface Call {
  /** "flightplan.v1.ResolverService/ResolveConfig". */
  rpc: string;
  request: Uint8Array;
  answer: Uint8Array;
}

export interface Report {
  /** Its name: "resolve". */
  command: string;
  /** As a person types it. */
  line: string;
  /** Of a script that was judged, and of the sides of a comparison. */
  names: string[];
  /** Of a script, to its repaired text. */
  diff: string;
  calls: Call[];
}

export function parseReport(text: string): Report {
  const report: Report = { command: "", line: "", names: [], diff: "", calls: [] };
  for (const line of text.split("\n")) {
    const [word, ...rest] = line.trim().split(" ");
    if (word === "call") report.calls.push({ rpc: rest[0] ?? "", request: bytesOf(rest[1]), answer: bytesOf(rest[2]) });
    if (word === "name") report.names.push(textOf(rest[0]));
    if (word === "command" || word === "line" || word === "diff") report[word] = textOf(rest[0]);
  }
  return report;
}

function bytesOf(base64 = ""): Uint8Array {
  return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
}

function textOf(base64 = ""): string {
  return new TextDecoder().decode(bytesOf(base64));
}

export const report = parseReport(document.getElementById("report")?.textContent ?? "");

/** What a recorded call asked; undefined: there is no such call. */
export function askedOf<Desc extends DescMessage>(schema: Desc, rpc: string, at = 0): MessageShape<Desc> | undefined {
  const call = report.calls.filter((one) => one.rpc.endsWith(`/${rpc}`))[at];
  return call && fromBinary(schema, call.request);
}
