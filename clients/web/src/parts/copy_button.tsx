// A button that puts text on the clipboard, and says so.
import { useSignal } from "@preact/signals";

const SHOWN_MS = 2_000;

export function CopyButton({ text, label = "copy" }: { text: string | (() => string | Promise<string>); label?: string }) {
  const said = useSignal("");
  const copy = async (): Promise<void> => {
    const words = typeof text === "string" ? text : await text();
    said.value = (await toClipboard(words)) ? "copied" : "the browser forbids it: select and copy by hand";
    setTimeout(() => (said.value = ""), SHOWN_MS);
  };
  return (
    <span class="copy">
      <button type="button" onClick={() => void copy()}>{label}</button>
      <span role="status">{said.value}</span>
    </span>
  );
}

async function toClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
