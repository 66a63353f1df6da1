"""Training a judge of steps on ``transformers.Trainer``."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch
from accelerate.utils import gather_object
from transformers import AutoTokenizer, PreTrainedModel, Trainer
from transformers.trainer_utils import EvalLoopOutput

from markscheme.prm.checkpoints.base import pad_id, sigmoid
from markscheme.prm.checkpoints.own import PRMFile, make_layout, write_file
from markscheme.prm.encoding import LostStepsWarning
from markscheme.prm.folders import check_folder
from markscheme.prm.load import require_both_targets, target_counts
from markscheme.prm.loss import IGNORED, balanced_weights
from markscheme.prm.model.readout import StepBatch
from markscheme.prm.threshold import choose_threshold
from markscheme.prm.training.card import card
from markscheme.prm.training.data import Data, StepCollator, StepDataset, dataset_of
from markscheme.prm.training.evaluation import UNNAMED, check_threshold_set, measure
from markscheme.prm.training.models import adapt, build_model, readout_for, without_dropout
from markscheme.prm.training.packing import check_packing
from markscheme.verifiers.errors import DataError

if TYPE_CHECKING:
    from peft import PeftConfig
    from torch import Tensor, nn
    from transformers import PreTrainedTokenizerBase

    from markscheme.prm.encoding import EncodingReport
    from markscheme.prm.training.config import PRMConfig

_BATCH = ("input_ids", "attention_mask", "position_ids", "step_positions", "step_starts", "step_stops", "states")


class PRMTrainer(Trainer):
    """Trains a process reward model.

    Data are encoded once, by the encoder that scoring uses; what is lost is counted and shown. The loss is the mean
    over all labelled steps of an optimiser step, whatever number of rows, packs, accumulated batches or processes they
    are spread over. Each evaluation measures steps and solutions; each checkpoint holds the weights as transformers
    saves them, ``prm_config.json`` and a model card with the last figures.

    Args:
        model: a backbone's name or folder, on which ``args.head`` is put; or a model that ends in it already.
        args: settings.
        train_dataset: labelled solutions, in any form of `Data`.
        eval_dataset: the same, or several sets by name.
        processing_class: the tokenizer; None: the model's own.
        peft_config: of an adapter, such as a ``LoraConfig``; the head is trained and saved whole beside it.
        model_options: for ``from_pretrained``, where the model is given by name: ``dtype``, ``attn_implementation``.
        options: of ``transformers.Trainer``.

    Attributes:
        train_report: what became of the training rows.
        measured: the last figures, by the evaluation set's name.
        threshold: below which a step counts as wrong: chosen on ``args.threshold_set``, if there is one.
        threshold_source: that set's name, once it has chosen; empty until then.

    Raises:
        StepDataError: bad rows, each by its number.
        DataError: no step is labelled right, or none wrong; a model or an adapter that does not fit the head; no
            evaluation set is called as ``args.threshold_set``.
    """

    args: PRMConfig

    def __init__(
        self,
        model: str | Path | PreTrainedModel,
        args: PRMConfig,
        *,
        train_dataset: Data | StepDataset | None = None,
        eval_dataset: Data | StepDataset | Mapping[str, Data | StepDataset] | None = None,
        processing_class: PreTrainedTokenizerBase | None = None,
        peft_config: PeftConfig | None = None,
        model_options: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        if args.n_gpu > 1:
            raise DataError("several GPUs in one process are not supported: launch with torchrun or accelerate")
        name = str(model) if isinstance(model, str | Path) else str(model.config.name_or_path)
        if isinstance(model, str | Path):
            check_folder(model)
        tokenizer = processing_class or AutoTokenizer.from_pretrained(name)
        built = build_model(model, args, dict(model_options or {}))
        if args.disable_dropout:
            without_dropout(built)
        if peft_config is not None:
            built = adapt(built, peft_config, args)
        self.base_model = name
        self.readout = readout_for(args, tokenizer)
        self.layout, separator_length = make_layout(tokenizer, args.layout, args.encoder())  # type: ignore[arg-type]
        self.train_report: EncodingReport | None = None
        check_threshold_set(args.threshold_set, eval_dataset)
        self.threshold, self.threshold_source = args.threshold, ""
        self.measured: dict[str, dict[str, float | None]] = {}
        self._counts: dict[str, Any] = {}
        train = None if train_dataset is None else self._encode_train(train_dataset, args)
        self.step_loss = args.step_loss(self._weights(train, args))
        self._masked = StepCollator(separator_length, pad_id(tokenizer), args.mask_after_error, args.right_above)
        self._plain = StepCollator(separator_length, pad_id(tokenizer))
        super().__init__(
            model=cast("Any", built),
            args=args,
            data_collator=cast("Any", self._masked),
            train_dataset=cast("Any", train),
            eval_dataset=cast("Any", self._encode_eval(eval_dataset, args)),
            processing_class=tokenizer,
            **options,
        )
        self.model_accepts_loss_kwargs = True  # compute_loss divides by the whole step's labels
        self._fill_cache([self.train_dataset, self.eval_dataset])

    # Data -----------------------------------------------------------------------------------------------------------

    def _encode_train(self, data: Data | StepDataset, args: PRMConfig) -> StepDataset:
        capacity = args.max_length if args.packing else None
        found, report = dataset_of(self.layout, data, cast("Any", args.on_bad), capacity, strict=args.strict)
        self.train_report = report
        for sentence in report.sentences():
            _warn(args, f"training data: {sentence}")
        above = args.right_above
        require_both_targets(found.trained(masked=args.mask_after_error, above=above), "training data", above)
        counts = target_counts(found.trained(masked=False, above=above), above)
        self._counts = {
            "solutions": len(found.samples),
            "right steps": counts.right,
            "wrong steps": counts.wrong,
            "unlabelled steps": counts.unlabelled,
            "lost steps": report.lost,
            "rows left out": len(report.skipped) + report.unread,
        }
        return found

    def _encode_eval(self, data: Any, args: PRMConfig) -> Any:
        if data is None:
            return None
        if isinstance(data, Mapping):
            return {name: self._encode_eval(each, args) for name, each in data.items()}
        found, report = dataset_of(self.layout, data, cast("Any", args.on_bad), strict=args.strict)
        for sentence in report.sentences():
            _warn(args, f"evaluation data: {sentence}")
        return found

    def _weights(self, train: StepDataset | None, args: PRMConfig) -> tuple[float, float] | None:
        if train is None or not args.balance_classes:
            return None
        return balanced_weights(train.trained(masked=args.mask_after_error, above=args.right_above), args.right_above)

    def _fill_cache(self, held: Sequence[Any]) -> None:
        if not self.args.state_cache:
            return
        from markscheme.prm.training.cache import fill_cache  # noqa: PLC0415 - the head pair alone

        sets = [one for data in held for one in (data.values() if isinstance(data, dict) else [data])]
        cache = fill_cache(cast("Any", self.model), self.args, [one for one in sets if isinstance(one, StepDataset)])
        self._masked.cache = self._plain.cache = cache

    def get_eval_dataloader(self, eval_dataset: Any = None) -> Any:
        """As transformers', with every label: what ``mask_after_error`` leaves out of training is measured."""
        self.data_collator, held = cast("Any", self._plain), self.data_collator
        try:
            return super().get_eval_dataloader(eval_dataset)
        finally:
            self.data_collator = held

    # Training -------------------------------------------------------------------------------------------------------

    def train(self, *args: Any, **kwargs: Any) -> Any:
        """Train; see ``transformers.Trainer.train``. Packing is checked on the data's own rows first.

        Raises:
            DataError: with this model a packed solution sees its neighbours.
        """
        if self.args.packing:
            rows = cast("StepDataset", self.train_dataset)
            shortest = sorted(range(len(rows.lengths)), key=lambda place: rows.lengths[place])[:3]
            check_packing(cast("Any", self.model), self.readout, [rows.one(place) for place in shortest], self._plain)
        return super().train(*args, **kwargs)

    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, Any],
        return_outputs: bool = False,  # noqa: FBT001, FBT002 - transformers' own signature
        num_items_in_batch: Tensor | int | None = None,
    ) -> Any:
        """The loss of a batch: a share of the optimiser step's mean over its labelled steps."""
        z = self.readout(model, _batch_of(inputs))
        loss = self.step_loss(z, inputs["labels"], items=num_items_in_batch)
        if num_items_in_batch is not None:
            loss = loss * self.accelerator.num_processes  # gradients are averaged over processes
        return (loss, z) if return_outputs else loss

    def _get_num_items_in_batch(self, batch_samples: list[Any], device: torch.device) -> Any:
        weight = sum((self.step_loss.weight_of(batch["labels"]) for batch in batch_samples), torch.zeros(()))
        return self.accelerator.gather(weight.to(device)).sum() if self.args.world_size > 1 else weight.to(device)

    # Evaluation -----------------------------------------------------------------------------------------------------

    def evaluate(self, eval_dataset: Any = None, *args: Any, **kwargs: Any) -> dict[str, float]:
        """Measure, on a set or on several by name; see `measure` for the figures."""
        given = self.eval_dataset if eval_dataset is None else eval_dataset
        chooser = self.args.threshold_set
        if isinstance(given, Mapping):
            sets = {name: self._encode_eval(each, self.args) for name, each in given.items()}
            if eval_dataset is not None:
                self._fill_cache([sets])
            if chooser in sets:  # first, so that the others are measured with what it chooses
                sets = {chooser: sets[chooser], **sets}
            return super().evaluate(cast("Any", sets), *args, **kwargs)
        if isinstance(given, str):
            return super().evaluate(cast("Any", given), *args, **kwargs)
        encoded = self._encode_eval(given, self.args)
        if eval_dataset is not None:
            self._fill_cache([encoded])
        return super().evaluate(cast("Any", encoded), *args, **kwargs)

    @torch.no_grad()
    def evaluation_loop(
        self,
        dataloader: Any,
        description: str,  # noqa: ARG002 - transformers' own signature
        prediction_loss_only: bool | None = None,  # noqa: ARG002, FBT001 - the same
        ignore_keys: list[str] | None = None,  # noqa: ARG002 - the same
        metric_key_prefix: str = "eval",
    ) -> EvalLoopOutput:
        """Score a set, each solution once whatever the number of processes, and measure."""
        data = cast("StepDataset", dataloader.dataset)
        model = self._evaluated()
        logits: dict[int, list[float]] = {}
        for inputs in dataloader:
            held = self._prepare_inputs(inputs)
            with self.compute_loss_context_manager():
                z = self.readout(model, _batch_of(held))
            known = (held["step_positions"] >= 0).sum(1).tolist()
            for place, values, count in zip(held["places"].tolist(), z.float().cpu().tolist(), known, strict=True):
                logits[place] = values[:count]
            control = self.control  # type: ignore[has-type]
            self.control = self.callback_handler.on_prediction_step(self.args, self.state, control)
        if self.args.world_size > 1:  # a set that does not divide by the processes is filled up with rows of its own
            logits = {place: values for part in cast("Any", gather_object([logits])) for place, values in part.items()}
        found = self._measure(data, [logits[place] for place in range(len(data))], metric_key_prefix)
        metrics = {f"{metric_key_prefix}_{name}": value for name, value in found.items() if value is not None}
        return EvalLoopOutput(predictions=cast("Any", None), label_ids=None, metrics=metrics, num_samples=len(data))

    def _measure(self, data: StepDataset, logits: list[list[float]], prefix: str) -> dict[str, float | None]:
        whole = [
            [*map(sigmoid, found), *[math.nan] * (len(sample.completions) - len(found))]
            for sample, found in zip(data.samples, logits, strict=True)
        ]
        name = prefix.removeprefix("eval").strip("_") or UNNAMED
        if name == self.args.threshold_set:
            self.threshold, self.threshold_source = choose_threshold(data.samples, whole, name).value, name
        found = measure(data.samples, whole, self.threshold)
        targets = [target for place in range(len(data)) for target in data.one(place).labels]
        flat = torch.tensor([IGNORED if target is None else target for target in targets])
        found["loss"] = float(self.step_loss(torch.tensor([z for row in logits for z in row]), flat))
        self.measured[name] = found
        return {**found, "threshold": self.threshold}

    def _evaluated(self) -> Any:
        """The model, wrapped as training left it, in evaluation."""
        model: Any = self._wrap_model(cast("Any", self.model), training=False)
        if not self.accelerator._models and model is self.model:
            model = self.accelerator.prepare_model(model, evaluation_mode=True)
        model.eval()
        return model

    # Checkpoints ----------------------------------------------------------------------------------------------------

    def _save(self, output_dir: str | None = None, state_dict: dict[str, Any] | None = None) -> None:
        super()._save(output_dir, state_dict)
        if self.args.should_save:
            folder = Path(output_dir or str(self.args.output_dir))
            write_file(folder, self.file())
            self._write_card(folder)

    def file(self) -> PRMFile:
        """What the checkpoint says of itself."""
        encoder = getattr(self.layout, "config", None) or self.args.encoder()
        return PRMFile(
            head=cast("Any", self.args.head),
            readout=self.readout.settings(),
            encoder=encoder,
            layout=cast("Any", self.args.layout),
            base_model=Path(self.base_model).name if Path(self.base_model).is_dir() else self.base_model,
            threshold=self.threshold,
            threshold_source=self.threshold_source,
            training={
                **self._counts,
                "loss": self.args.loss,
                "class_weights": list(self.step_loss.class_weights),
                "mask_after_error": self.args.mask_after_error,
                "steps of the optimiser": self.state.global_step,
                "learning_rate": self.args.learning_rate,
                "seed": self.args.seed,
            },
            metrics=self.measured,
        )

    def _write_card(self, folder: Path) -> None:
        name = self.args.hub_model_id or Path(str(self.args.output_dir)).name
        (folder / "README.md").write_text(card(self.file(), name), encoding="utf-8")

    def create_model_card(self, *_: Any, **__: Any) -> None:
        """Write the card; ``push_to_hub`` calls this."""
        if self.is_world_process_zero():
            self._write_card(Path(str(self.args.output_dir)))


def _batch_of(inputs: Mapping[str, Any]) -> StepBatch:
    held: dict[str, Any] = {name: inputs.get(name) for name in _BATCH}
    return StepBatch(**held)


def _warn(args: PRMConfig, sentence: str) -> None:
    """Warn, in one process of several."""
    if args.process_index == 0:
        warnings.warn(sentence, LostStepsWarning, stacklevel=4)
