// What a browser keeps for the page. Where that is forbidden nothing is kept, and nothing fails.

type Kind = "localStorage" | "sessionStorage";

export function stored(kind: Kind, key: string): string {
  try {
    return window[kind].getItem(key) ?? "";
  } catch {
    return "";
  }
}

/** Empty: forgotten. */
export function store(kind: Kind, key: string, text: string): void {
  try {
    if (text) window[kind].setItem(key, text);
    else window[kind].removeItem(key);
  } catch {
    // The page works without.
  }
}
