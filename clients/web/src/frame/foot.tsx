// Which answer this is: its digest, and what it rests on.
import { current } from "../state/answer";

const SHOWN_REVISION = 12;

export function Foot() {
  const response = current.answer.value?.response;
  return (
    <footer class="foot">
      {response && (
        <p>digest <code>{response.digest}</code> · catalogue <code>{response.catalogRevision.slice(0, SHOWN_REVISION)}</code> · evidence <code>{String(response.evidenceRevision)}</code></p>
      )}
    </footer>
  );
}
