"""What a run needs of each GPU's memory: weights, gradients, Adam and KV cache exactly, the rest by stated estimates.

GB is 10⁹ bytes. Exact means: the bytes of the tensors that torch allocates, to the rounding of shards. It is checked
against torch in the tests. An estimate names its formula in `Item.how`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

from markscheme.trainer.memory import activations
from markscheme.trainer.memory.run import Run

Phase = Literal["always", "generate", "update"]

BUCKET = 500_000_000  # elements of DeepSpeed's reduce_bucket_size, its default
RESERVE = 0.05  # share of a GPU left to the CUDA context, communication and fragmentation


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that takes memory.

    Attributes:
        name: what it is.
        whole: its bytes over all GPUs if it were held once: the sum of the shards, or one copy.
        gpu: its bytes on each GPU.
        host: its bytes in the host's memory, of one GPU's share.
        exact: whether this is counted or estimated.
        phase: when it is there.
        how: the formula, in words.
    """

    name: str
    whole: int
    gpu: int
    exact: bool
    phase: Phase
    how: str
    host: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """The memory of a run.

    Attributes:
        run: what was planned.
        items: in the order of a run.
    """

    run: Run
    items: list[Item] = field(default_factory=list)

    def needed(self, phase: Phase) -> int:
        """Return the bytes needed on each GPU in a phase, what is always there included."""
        return sum(item.gpu for item in self.items if item.phase in ("always", phase))

    @property
    def peak(self) -> int:
        """The bytes needed on each GPU in the larger phase."""
        return max(self.needed("generate"), self.needed("update"))

    @property
    def host(self) -> int:
        """The bytes needed in the hosts' memory, for all GPUs."""
        return self.run.gpus * sum(item.host for item in self.items)

    @property
    def usable(self) -> int:
        """The bytes of a GPU that a run can have."""
        return int(self.run.gpu_memory * (1 - RESERVE))

    @property
    def fits(self) -> bool:
        """Whether the larger phase fits."""
        return self.peak <= self.usable

    @property
    def adam(self) -> int:
        """The bytes of Adam's two moments, over all GPUs."""
        return sum(item.whole for item in self.items if item.name.endswith("Adam's moments"))


def plan(run: Run) -> Plan:
    """Plan the memory of a run.

    Raises:
        TrainerConfigError: its settings contradict each other.
    """
    run.check()
    items = [*_trained(run, "policy", run.shape.parameters)]
    if run.algorithm == "ppo":
        items += _trained(run, "critic", run.critic or run.shape.parameters)
    items += [*_reference(run), *_generation(run), *_update(run)]
    return Plan(run, items)


def alternatives(run: Run) -> Iterator[tuple[str, Plan]]:
    """Yield changes of a run that make it fit, each with its plan, from the mildest to the harshest."""
    stage: Literal[2, 3]
    tried: list[tuple[str, Run]] = []
    for stage in (2, 3):
        if run.zero < stage and run.gpus > 1:
            tried.append((f"--zero {stage}", replace(run, zero=stage)))
    best = tried[-1][1] if tried else run
    names = tried[-1][0] + " " if tried else ""
    if not best.checkpointing:
        best = replace(best, checkpointing=True)
        names += "--checkpointing "
        tried.append((names.strip(), best))
    if best.zero and not best.offload:
        tried.append((f"{names}--offload".strip(), replace(best, offload=True)))
        if best.zero == 3:
            tried.append((f"{names}--offload --offload-weights", replace(best, offload=True, offload_weights=True)))
    if run.rollout != "server":
        tried.append((f"{names}--rollout server".strip(), replace(best, rollout="server")))
    if run.lora_rank is None:
        tried.append((f"{names}--lora".strip(), replace(best, lora_rank=16)))
    if best.zero == 3:
        all_of_it = replace(best, offload=True, offload_weights=True, rollout="server")
        tried.append((f"{names}--offload --offload-weights --rollout server", all_of_it))
    for name, changed in tried:
        found = plan(changed)
        if found.fits:
            yield name, found


def _share(size: int, run: Run, stage: int) -> int:
    """A GPU's part of what ZeRO shards from ``stage`` on."""
    return -(-size // run.gpus) if run.zero >= stage else size


def _trained(run: Run, name: str, parameters: int) -> Iterator[Item]:
    """Weights, gradients and Adam's state of a model that is trained."""
    trained = parameters
    frozen = 0
    if run.lora_rank is not None:
        trained, frozen = run.shape.lora_parameters(run.lora_rank, run.lora_targets), parameters
        size = frozen * run.width
        yield _held(run, f"{name}: frozen weights", size, 3, f"{run.width} B a parameter", to_host=run.offload_weights)
    # peft keeps adapters of a 16-bit model in fp32, unless DeepSpeed holds an fp32 copy of them
    stored = 4 if frozen and run.precision == "pure" else run.stored
    what = "adapters" if frozen else "weights"
    size = trained * stored
    yield _held(run, f"{name}: {what}", size, 3, f"{stored} B a parameter", to_host=run.offload_weights)
    if run.precision == "mixed" and run.width < 4:
        yield _held(run, f"{name}: fp32 {what}", 4 * trained, 1, "4 B a parameter", to_host=run.offload)
    moment = stored if run.precision == "pure" else 4
    how = f"2 x {moment} B a trained parameter"
    yield _held(run, f"{name}: Adam's moments", 2 * moment * trained, 1, how, to_host=run.offload)
    phase: Phase = "always" if run.zero else "update"  # DeepSpeed keeps the buffer; else they end with the step
    how = f"{stored} B a trained parameter"
    yield _held(run, f"{name}: gradients", size, 2, how, to_host=run.offload, phase=phase)


def _held(
    run: Run, name: str, size: int, stage: int, how: str, *, to_host: bool = False, phase: Phase = "always"
) -> Item:
    share = _share(size, run, stage)
    if share < size:
        how += f", 1/{run.gpus} on each"
    if to_host:
        return Item(name, size, 0, exact=True, phase=phase, how=f"{how}, on the host", host=share)
    return Item(name, size, share, exact=True, phase=phase, how=how)


def _reference(run: Run) -> Iterator[Item]:
    if run.reference and run.lora_rank is None:
        size = run.shape.parameters * run.stored
        yield _held(run, "reference: weights", size, 3, f"{run.stored} B a parameter")


def _generation(run: Run) -> Iterator[Item]:
    """The KV cache of all completions at full length, and the weights that generate them."""
    if run.rollout == "server":
        return
    shape, width = run.shape, run.width
    size = shape.kv_bytes(run.context, run.sequences, width)
    how = (
        f"2 x {shape.layers} layers x {shape.kv_heads} heads x {shape.head_dim} x {width} B x {run.context} tokens x "
        f"{run.sequences} sequences"
    )
    yield Item("KV cache", size * run.gpus, size, exact=True, phase="generate", how=how)
    weights = shape.parameters
    if run.rollout == "vllm":
        how = f"vLLM's copy, {width} B a parameter, beside the trained weights (tensor parallel size 1)"
        yield Item("rollout: weights", weights * width, weights * width, exact=True, phase="always", how=how)
    elif run.zero == 3 and run.gpus > 1:
        size = weights * run.stored
        how = "TRL gathers all weights to generate (ds3_gather_for_generation)"
        yield Item("rollout: gathered weights", size, size, exact=False, phase="generate", how=how)


def _update(run: Run) -> Iterator[Item]:
    """What the forward and backward pass need for a while: all of it estimated."""
    models = 2 if run.algorithm == "ppo" else 1
    tokens = run.micro_batch * run.context
    size, how = activations.layers(run.shape, tokens, run.width, run.precision, checkpointing=run.checkpointing)
    if models > 1:
        how += "; policy and critic in one pass"
    yield Item("activations", models * size, models * size, exact=False, phase="update", how=how)
    scored = run.micro_batch * (run.context - run.prompt_tokens)
    size, how = activations.head(run.shape, scored, run.width, trained=run.lora_rank is None)
    yield Item("output head", size, size, exact=False, phase="update", how=how)
    if run.zero == 3 and run.gpus > 1:
        live = max(2 * sum(i * o for i, o in run.shape.linear.values()), run.shape.vocabulary * run.shape.hidden)
        how = "ZeRO-3 gathers a layer and the next, or the embedding"
        yield Item("gathered layers", live * run.width, live * run.width, exact=False, phase="update", how=how)
    if run.precision == "autocast" and run.width < 4 and run.zero == 0 and run.lora_rank is None:
        size = models * run.width * run.shape.parameters
        yield Item("autocast's weights", size, size, exact=False, phase="update", how="a 16-bit copy of every weight")
    yield from _buckets(run)


def _buckets(run: Run) -> Iterator[Item]:
    if run.gpus == 1 or run.zero == 3:
        return
    trained = run.shape.parameters
    if run.lora_rank is not None:
        trained = run.shape.lora_parameters(run.lora_rank, run.lora_targets)
    elements = trained if run.zero == 0 else min(trained, BUCKET)
    how = "DDP's copy of the gradients" if run.zero == 0 else "DeepSpeed's reduce_bucket_size, 5e8 elements"
    size = elements * run.stored
    yield Item("communication", size, size, exact=False, phase="update", how=how)
