// A button that saves text as a file.
export function SaveButton({ name, text, label = "download" }: { name: string; text: string; label?: string }) {
  const save = (): void => {
    const url = URL.createObjectURL(new Blob([text], { type: "text/plain" }));
    const anchor = document.createElement("a");
    anchor.href = url;
    anchor.download = name.split("/").pop() || "launch";
    anchor.click();
    URL.revokeObjectURL(url);
  };
  return <button type="button" onClick={save}>{label}</button>;
}
