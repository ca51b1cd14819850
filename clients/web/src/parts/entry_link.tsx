// The name of an entry of the reference; a link to its page where there is one.
import { live } from "../client/transport";
import { hrefOf } from "../state/route";

export function EntryLink({ kind, name }: { kind: "rule" | "knob"; name: string }) {
  return live ? <a href={hrefOf("reference", kind, name)}>{name}</a> : <>{name}</>;
}
