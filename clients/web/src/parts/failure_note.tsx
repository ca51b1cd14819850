// What the server said instead of an answer, and a way to ask again.
import type { Failure } from "../client/failure";
import { tokenWanted } from "../client/token";

export function FailureNote({ failure, again }: { failure: Failure | undefined; again: () => void }) {
  // While the form asks for a token, it says what is missing.
  if (!failure || (failure.code === "Unauthenticated" && tokenWanted.value)) return null;
  return (
    <div class="note bad" role="alert">
      <p><strong>{failure.sentence}</strong></p>
      {failure.fields.length > 0 && (
        <ul>{failure.fields.map(({ field, description }) => <li key={field}><code>{field}</code> {description}</li>)}</ul>
      )}
      <button type="button" onClick={again}>ask again</button>
    </div>
  );
}
