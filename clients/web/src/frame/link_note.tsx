// What opening a link found: the same answer, or what changed.
import { opened } from "../state/share";

export function LinkNote() {
  const note = opened.value;
  if (!note) return null;
  return (
    <div class={`note ${note.good ? "good" : "warn"}`} role="status">
      <p>{note.sentence}{" "}
        <button type="button" aria-label="close this note" onClick={() => (opened.value = undefined)}>×</button></p>
      {note.changes.length > 0 && <ul>{note.changes.map((change) => <li key={change}>{change}</li>)}</ul>}
    </div>
  );
}
