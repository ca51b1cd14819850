// Which model: a name of the catalogue, or a Hugging Face config.json that is dropped or chosen.
import { create } from "@bufbuild/protobuf";
import type { Signal } from "@preact/signals";
import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { models } from "../client/catalogue";
import { ModelRefSchema } from "../generated/flightplan/v1/model_pb";
import { changed } from "../state/question";
import type { Question } from "../state/question";
import { parameterText } from "../words/text";
import { TextField } from "./fields";

const MAX_BYTES = 256 * 1024;

export function ModelField({ of }: { of: Signal<Question> }) {
  const problem = useSignal("");
  const source = of.value.model?.source;
  const set = (next: NonNullable<typeof source>): void => {
    problem.value = "";
    of.value = changed(of.value, (draft) => (draft.model = create(ModelRefSchema, { source: next })));
  };
  const take = async (file: File | undefined): Promise<void> => {
    if (!file) return;
    if (file.size > MAX_BYTES) problem.value = `${file.name} is larger than 256 KiB: no config.json`;
    else set({ case: "hfConfigJson", value: await file.text() });
  };
  return (
    <div class="model" onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        void take(event.dataTransfer?.files[0]);
      }}>
      {source?.case === "name" || source?.case === undefined
        ? <TextField label="model" value={source?.value ?? ""} problem={problem.value} onFocus={() => void models.load()}
            names={models.entries.value.map(({ name, parameters }) => ({ name, note: parameters && parameterText(parameters.totalCount) }))}
            set={(value) => set({ case: "name", value })} />
        : <p class="field"><span class="label">model</span> {source.case === "hfConfigJson" ? "your config.json" : source.value.name}{" "}
            <button type="button" onClick={() => set({ case: "name", value: "deepseek-v3" })}>by name instead</button></p>}
      <FileChoice take={take} />
    </div>
  );
}

function FileChoice({ take }: { take: (file: File | undefined) => Promise<void> }) {
  const id = useId();
  return (
    <p class="file">
      <label for={id}>or drop a config.json here:</label>{" "}
      <input id={id} type="file" accept=".json,application/json" onChange={(event) => void take(event.currentTarget.files?.[0])} />
    </p>
  );
}
