// The caller's bearer token: asked for when the server wants one, kept for this tab alone, sent in a header.
import { signal } from "@preact/signals";

const KEY = "flightplan.token";

export const token = signal(sessionStorage.getItem(KEY) ?? "");

/** Why a token is asked for; empty: it is not. The server's own sentence. */
export const tokenWanted = signal("");

export function setToken(text: string): void {
  token.value = text.trim();
  tokenWanted.value = "";
  if (token.value) sessionStorage.setItem(KEY, token.value);
  else sessionStorage.removeItem(KEY);
}
