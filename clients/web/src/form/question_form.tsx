// The question as a form. What is left open is searched, or assumed and said so.
import { useSignal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import { gpus } from "../client/catalogue";
import { Lazy } from "../parts/lazy";
import { changed } from "../state/question";
import type { Draft, LayoutField, Question } from "../state/question";
import { gibNumber } from "../words/text";
import { NumberField, TextField } from "./fields";
import { ModelField } from "./model_field";

interface Props {
  of: Signal<Question>;
}

const SIZES: readonly (readonly [LayoutField, string])[] = [
  ["tensorModelParallelSize", "TP"], ["pipelineModelParallelSize", "PP"], ["virtualPipelineModelParallelSize", "VPP"],
  ["contextParallelSize", "CP"], ["expertModelParallelSize", "EP"], ["expertTensorParallelSize", "ETP"], ["microBatchSize", "microbatch"],
];

export function QuestionForm({ of }: Props) {
  return (
    <form class="question" onSubmit={(event) => event.preventDefault()}>
      <ModelField of={of} />
      <Machine of={of} />
      <Sizes of={of} />
      <More of={of} />
    </form>
  );
}

// Fetched when it is opened: few open it.
const loadMore = async () => (await import("./more_fields")).MoreFields;

function More({ of }: Props) {
  const opened = useSignal(false);
  return (
    <details onToggle={(event) => (opened.value ||= event.currentTarget.open)}>
      <summary>work, stack, knobs</summary>
      {opened.value && <Lazy load={loadMore} with={{ of }} />}
    </details>
  );
}

export function editor(of: Signal<Question>): (change: (draft: Draft) => void) => void {
  return (change) => (of.value = changed(of.value, change));
}

function Machine({ of }: Props) {
  const edit = editor(of);
  const hardware = of.value.hardware;
  return (
    <div class="pair">
      <TextField label="GPU" value={hardware?.gpu ?? ""} onFocus={() => void gpus.load()}
        names={gpus.entries.value.map(({ name, hbmBytes }) => ({ name, note: `${gibNumber(hbmBytes)} GiB` }))}
        set={(gpu) => edit((draft) => (draft.hardware.gpu = gpu))} />
      <NumberField label="GPUs" empty="how many" value={hardware?.gpuCount || undefined} most={1048576}
        set={(count) => edit((draft) => (draft.hardware.gpuCount = count ?? 0))} />
    </div>
  );
}

function Sizes({ of }: Props) {
  const edit = editor(of);
  const layout = of.value.layout;
  const split = layout?.pipelineModelParallelLayout;
  return (
    <fieldset class="sizes">
      <legend>layout</legend>
      {SIZES.map(([field, label]) => (
        <NumberField key={field} label={label} value={layout?.[field]} set={(size) => edit((draft) => (draft.layout[field] = size))} />
      ))}
      {split && (
        <p class="split">stages <code>{split}</code>{" "}
          <button type="button" onClick={() => edit((draft) => (draft.layout.pipelineModelParallelLayout = undefined))}>decide</button></p>
      )}
    </fieldset>
  );
}
