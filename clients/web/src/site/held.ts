// What a site's pages hold: the lists of the catalogue, in reference.js beside them (clients/cli/site.cc writes it).
import { fromBinary } from "@bufbuild/protobuf";
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";

declare global {
  // Base64 of the answers of CatalogService's lists, by rpc.
  var FLIGHTPLAN_REFERENCE: Readonly<Record<string, string>> | undefined;
}

export function heldList<Desc extends DescMessage>(schema: Desc, rpc: string): MessageShape<Desc> {
  const text = atob(globalThis.FLIGHTPLAN_REFERENCE?.[rpc] ?? "");
  return fromBinary(schema, Uint8Array.from(text, (c) => c.charCodeAt(0)));
}
