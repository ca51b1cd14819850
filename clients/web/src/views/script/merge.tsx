// The repaired text beside the script: what was, struck through, above what is.
import { unifiedMergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { useEffect, useRef } from "preact/hooks";
import { code } from "./code";

// Beyond this a diff by characters is not looked for: whole lines stand for it.
const SCAN_LIMIT = 500;

export function Merge({ original, repaired }: { original: string; repaired: string }) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const merge = unifiedMergeView({
      original, mergeControls: false, gutter: true, collapseUnchanged: { margin: 3, minSize: 6 }, diffConfig: { scanLimit: SCAN_LIMIT },
    });
    const view = new EditorView({
      parent: place.current!,
      state: EditorState.create({ doc: repaired, extensions: [code("repaired script"), EditorState.readOnly.of(true), merge] }),
    });
    return () => view.destroy();
  }, [original, repaired]);
  return <div class="editor merge" ref={place} />;
}
