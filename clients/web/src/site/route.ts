// Addresses of a site: each entry is a file, and the page says which one it is (clients/cli/site.cc).
import { signal } from "@preact/signals";
import type { Route } from "../state/route";

const { root = "", kind, name } = document.documentElement.dataset;

export const route = signal<Route>({ view: "reference", rest: kind && name ? [kind, name] : [], parameters: new URLSearchParams() });

/** A file's name for an entry's: what a file system or an address may not hold is "~" and two hexadecimal digits a byte. */
export function fileName(entry: string): string {
  return [...new TextEncoder().encode(entry)].map((byte) => {
    const c = String.fromCharCode(byte);
    return /[A-Za-z0-9._-]/.test(c) ? c : `~${byte.toString(16).padStart(2, "0")}`;
  }).join("");
}

export function hrefOf(_view: string, ...rest: string[]): string {
  const [entryKind, entry] = rest;
  return entryKind && entry ? `${root}${entryKind}/${fileName(entry)}.html` : `${root}index.html`;
}
