// The caller's bearer token: asked for when the server wants one, kept for this tab alone, sent in a header.
import { signal } from "@preact/signals";
import { store, stored } from "../state/stored";

const KEY = "flightplan.token";

export const token = signal(stored("sessionStorage", KEY));

/** Why a token is asked for; empty: it is not. The server's own sentence. */
export const tokenWanted = signal("");

export function setToken(text: string): void {
  token.value = text.trim();
  tokenWanted.value = "";
  store("sessionStorage", KEY, token.value);
}
