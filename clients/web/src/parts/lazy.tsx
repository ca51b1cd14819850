// A component whose code is fetched when it is first shown.
import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { FailureNote } from "./failure_note";

const loaded = new Map<unknown, ComponentType<never>>();

type Props<Inner> = { load: () => Promise<ComponentType<Inner>>; with: Inner };

export function Lazy<Inner extends object>({ load, with: inner }: Props<Inner>) {
  const failed = useSignal(false);
  const version = useSignal(0);
  const fetchIt = (): void => {
    failed.value = false;
    load().then((view) => {
      loaded.set(load, view as ComponentType<never>);
      version.value += 1;
    }, () => (failed.value = true));
  };
  useEffect(() => {
    if (!loaded.has(load)) fetchIt();
  }, [load]);
  void version.value;
  const View = loaded.get(load) as ComponentType<Inner> | undefined;
  if (View) return <View {...inner} />;
  if (!failed.value) return <p role="status" class="opening">opening …</p>;
  return <FailureNote failure={{ code: "Unavailable", sentence: "the server does not answer", fields: [] }} again={fetchIt} />;
}
