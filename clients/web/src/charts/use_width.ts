// The width in pixels that an element has, so that a chart is drawn for it and its text keeps its size.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

const BEFORE_MEASURED = 640;

export function useWidth() {
  const place = useRef<HTMLDivElement>(null);
  const width = useSignal(BEFORE_MEASURED);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      if (entry) width.value = Math.max(240, Math.floor(entry.contentRect.width));
    });
    observer.observe(place.current!);
    return () => observer.disconnect();
  }, []);
  return { place, width: width.value };
}
