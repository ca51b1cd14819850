// Named lines of a page of the reference; a line without content is left out.
import type { ComponentChildren } from "preact";
import { hrefOf } from "../../state/route";

export type LineOf = readonly [name: string, content: ComponentChildren];

export function Lines({ lines }: { lines: readonly LineOf[] }) {
  return (
    <dl class="lines">
      {lines.filter(([, content]) => content !== "" && content !== undefined && content !== null && content !== false).map(([name, content]) => <div key={name}><dt>{name}</dt><dd>{content}</dd></div>)}
    </dl>
  );
}

/** Links to entries of one kind, with commas; nothing where there are none. */
export function Links({ kind, names }: { kind: "rule" | "knob"; names: readonly string[] }) {
  return <>{names.map((name, at) => <span key={name}>{at > 0 && ", "}<a href={hrefOf("reference", kind, name)}>{name}</a></span>)}</>;
}
