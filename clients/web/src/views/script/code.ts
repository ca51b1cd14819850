// What both editors share: lines, shell colours by class (the style sheet has the colours), no styles of CodeMirror's own
// that refer to pictures.
import { StreamLanguage, syntaxHighlighting } from "@codemirror/language";
import { shell } from "@codemirror/legacy-modes/mode/shell";
import type { Extension } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { classHighlighter } from "@lezer/highlight";
import { isDark } from "../../state/theme";

const theme = EditorView.theme({
  "&": { backgroundColor: "var(--back)", color: "var(--text)", border: "1px solid var(--line)", borderRadius: "6px" },
  "&.cm-focused": { outline: "3px solid var(--accent)", outlineOffset: "2px" },
  ".cm-scroller": { fontFamily: "inherit", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--panel)", color: "var(--dim)", borderRight: "1px solid var(--line)" },
  ".cm-collapsedLines::before, .cm-collapsedLines::after": { content: '"…"' },
  ".cm-tooltip": { backgroundColor: "var(--back)", color: "var(--text)", border: "1px solid var(--line)", maxWidth: "36rem" },
});

export function code(label: string): Extension {
  return [
    lineNumbers(),
    EditorView.lineWrapping,
    StreamLanguage.define(shell),
    syntaxHighlighting(classHighlighter),
    theme,
    EditorView.darkTheme.of(isDark()),
    EditorView.contentAttributes.of({ "aria-label": label }),
  ];
}
