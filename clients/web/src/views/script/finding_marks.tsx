// Findings in the gutter and under the pointer.
import { RangeSetBuilder, StateEffect, StateField } from "@codemirror/state";
import type { Extension, RangeSet, Text } from "@codemirror/state";
import { Decoration, EditorView, gutter, GutterMarker, hoverTooltip } from "@codemirror/view";
import type { DecorationSet } from "@codemirror/view";
import { render } from "preact";
import type { Finding } from "../../generated/flightplan/v1/finding_pb";
import { FindingList } from "../../parts/finding_list";
import { severityWord } from "../../words/findings";
import type { Spelling } from "../../words/findings";

/** Findings by line, worst first. */
export interface Marks {
  findings: readonly Finding[];
  spelling: Spelling;
}

export const setMarks = StateEffect.define<Marks>();
const NONE: Marks = { findings: [], spelling: { knob: ({ name }) => name, variable: "" } };

const marks = StateField.define<Marks>({
  create: () => NONE,
  update: (value, transaction) => transaction.effects.reduce((last, effect) => (effect.is(setMarks) ? effect.value : last), value),
});

class Mark extends GutterMarker {
  constructor(readonly word: string, readonly count: number) {
    super();
  }
  override eq(other: Mark): boolean {
    return other.word === this.word && other.count === this.count;
  }
  override toDOM(): Node {
    const dot = document.createElement("span");
    dot.className = `mark-${this.word}`;
    dot.textContent = this.word === "error" ? "✕" : this.word === "warn" ? "!" : "i";
    dot.title = `${this.word}${this.count > 1 ? ` and ${this.count - 1} more` : ""}`;
    return dot;
  }
}

function byLine(findings: readonly Finding[], doc: Text): Map<number, Finding[]> {
  const lines = new Map<number, Finding[]>();
  for (const finding of findings) {
    const line = finding.location?.line;
    if (line === undefined || line < 1 || line > doc.lines) continue;
    lines.set(line, [...(lines.get(line) ?? []), finding]);
  }
  return new Map([...lines].sort(([a], [b]) => a - b));
}

function gutterMarks(view: EditorView): RangeSet<GutterMarker> {
  const builder = new RangeSetBuilder<GutterMarker>();
  for (const [line, found] of byLine(view.state.field(marks).findings, view.state.doc)) {
    const at = view.state.doc.line(line).from;
    builder.add(at, at, new Mark(severityWord(found[0]!.severity), found.length));
  }
  return builder.finish();
}

const lineColours = EditorView.decorations.compute([marks, "doc"], (state): DecorationSet => {
  const builder = new RangeSetBuilder<Decoration>();
  for (const [line, found] of byLine(state.field(marks).findings, state.doc)) {
    const at = state.doc.line(line).from;
    builder.add(at, at, Decoration.line({ class: `line-${severityWord(found[0]!.severity)}` }));
  }
  return builder.finish();
});

const hover = hoverTooltip((view, position) => {
  const { findings, spelling } = view.state.field(marks);
  const line = view.state.doc.lineAt(position);
  const found = byLine(findings, view.state.doc).get(line.number);
  if (!found) return null;
  return {
    pos: line.from,
    above: false,
    create: () => {
      const dom = document.createElement("div");
      dom.className = "hover-findings";
      render(<FindingList findings={found} spelling={spelling} />, dom);
      return { dom, destroy: () => render(null, dom) };
    },
  };
});

export const findingMarks: Extension = [
  marks,
  gutter({ class: "cm-findings", markers: gutterMarks, initialSpacer: () => new Mark("error", 1), lineMarkerChange: (update) => update.transactions.length > 0 }),
  lineColours,
  hover,
];
