// The editor of the script. The signal has the text; what others put there is shown, what is typed is put there.
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { EditorState } from "@codemirror/state";
import { EditorView, keymap, placeholder } from "@codemirror/view";
import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { script, verdict } from "../../state/script";
import { launchSpelling } from "../../words/findings";
import { code } from "./code";
import { findingMarks, setMarks } from "./finding_marks";

let shown: EditorView | undefined;

export function goToLine(line: number): void {
  if (!shown || line > shown.state.doc.lines) return;
  const { from } = shown.state.doc.line(line);
  shown.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: "center" }) });
  shown.focus();
}

function newEditor(parent: HTMLElement): EditorView {
  const typed = EditorView.updateListener.of((update) => {
    if (update.docChanged) script.value = { ...script.value, text: update.state.doc.toString() };
  });
  const extensions = [
    code("launch script"), findingMarks, history(), keymap.of([...defaultKeymap, ...historyKeymap]),
    placeholder("paste a launch script, or drop a file here"), typed,
  ];
  return new EditorView({ parent, state: EditorState.create({ doc: script.value.text, extensions }) });
}

function follow(view: EditorView): () => void {
  const stopText = effect(() => {
    const { text } = script.value;
    if (text !== view.state.doc.toString()) view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
  });
  const stopMarks = effect(() => {
    const answer = verdict.answer.value;
    view.dispatch({ effects: setMarks.of({ findings: answer?.findings ?? [], spelling: launchSpelling(answer?.config ?? []) }) });
  });
  return () => {
    stopText();
    stopMarks();
  };
}

export function Editor() {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const view = newEditor(place.current!);
    shown = view;
    const stop = follow(view);
    return () => {
      stop();
      view.destroy();
      shown = undefined;
    };
  }, []);
  return <div class="editor" ref={place} />;
}
