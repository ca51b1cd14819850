// On paper nothing can be opened by a click: what is closed is open while the page is printed.

const LONGEST_WAIT_MS = 5_000;

function openAll(): HTMLDetailsElement[] {
  const closed = [...document.querySelectorAll<HTMLDetailsElement>("main details:not([open])")];
  for (const part of closed) part.open = true;
  return closed;
}

/** For a print that the browser starts by itself: only what was made before can be in it. */
export function openForPrint(): void {
  let closed: HTMLDetailsElement[] = [];
  addEventListener("beforeprint", () => (closed = openAll()));
  addEventListener("afterprint", () => {
    for (const part of closed) part.open = false;
  });
}

/** Opens everything, waits until it is there, and prints. */
export async function printWhole(): Promise<void> {
  const end = performance.now() + LONGEST_WAIT_MS;
  do {
    openAll();
    await new Promise((resolve) => setTimeout(resolve, 50));
  } while (document.querySelector("main .opening, main details:not([open])") && performance.now() < end);
  print();
}
