// Asks for a token where the server wants one.
import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { setToken, token, tokenWanted } from "../client/token";

export function TokenForm() {
  const typed = useSignal("");
  const id = useId();
  if (!tokenWanted.value) return null;
  return (
    <form class="note warn token" aria-label="your token" onSubmit={(event) => {
      event.preventDefault();
      setToken(typed.value);
    }}>
      <p role="alert">{tokenWanted.value}</p>
      <p>
        <label for={id}>token</label>{" "}
        <input id={id} type="password" autocomplete="off" value={typed.value} onInput={(event) => (typed.value = event.currentTarget.value)} />{" "}
        <button type="submit">use</button>{" "}
        {token.value && <button type="button" onClick={() => setToken("")}>forget the token</button>}
      </p>
      <p class="dim">kept for this tab alone, and sent to this server in a header</p>
    </form>
  );
}
