// A part of a view that opens by a click, so that a first look meets little; what is in it is made only then.
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";

interface Props {
  title: string;
  open?: boolean;
  children: () => ComponentChildren;
}

export function Section({ title, open = false, children }: Props) {
  const wasOpen = useSignal(open);
  return (
    <details class="section" open={open} onToggle={(event) => {
      if (event.currentTarget.open) wasOpen.value = true;
    }}>
      <summary><h2>{title}</h2></summary>
      {(wasOpen.value || open) && children()}
    </details>
  );
}
