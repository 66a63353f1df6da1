"""A head on pairs [hᵢ₋₁; emb(xᵢ); hᵢ₋₁ ⊙ emb(xᵢ)] over a frozen backbone.

hᵢ₋₁ is what the backbone expects after the tokens before i; emb(xᵢ) is the token that came. Whether the one surprises
the other is easier to learn for a small head than to read from hᵢ, where a small backbone has mixed them. The product
gives it the terms that the backbone's own logit sums, where input and output embeddings are one: without it two layers
have to learn to multiply, which takes several times the labels. The logit of a step is the soft minimum of its tokens'
(`SpanReadout`). Since the backbone does not learn, its states can be computed once (`StateCache`), and training costs
what the head costs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, PretrainedConfig, PreTrainedModel
from transformers.modeling_outputs import TokenClassifierOutput

from markscheme.prm.model.token import attend_as_backbone, quiet_loading, refuse_encoders, refuse_missing


class PairClassifier(PreTrainedModel):
    """A frozen backbone and a head of two layers on pairs of state and embedding.

    Args:
        config: the backbone's. ``prm_pair_width`` (units of the hidden layer), ``prm_pair_dropout`` and
            ``prm_pair_product`` (whether the head sees the product; absent: no) are read from it.
        backbone: the backbone itself; None: made from the configuration.
    """

    config: PretrainedConfig
    base_model_prefix = "model"
    _keys_to_ignore_on_load_unexpected = [r"^lm_head\."]  # noqa: RUF012 - as transformers declares it

    def __init__(self, config: PretrainedConfig, backbone: PreTrainedModel | None = None) -> None:
        attend_as_backbone(self, config)
        super().__init__(config)
        self.num_labels = 1
        auto: Any = AutoModel
        self.model = auto.from_config(config) if backbone is None else backbone
        self.model.requires_grad_(requires_grad=False)
        size, width = state_size(config), getattr(config, "prm_pair_width", 256)
        wide = self.model.get_input_embeddings().embedding_dim
        # Neither scale is the head's concern: states leave a final norm with a gain, embeddings are small.
        self.state_norm = nn.LayerNorm(size)
        self.token_norm = nn.LayerNorm(wide)
        self.product = bool(getattr(config, "prm_pair_product", False))
        self.pair = nn.Sequential(
            nn.Linear(size + wide + (size if self.product else 0), width),
            nn.GELU(),
            nn.Dropout(getattr(config, "prm_pair_dropout", 0.0)),
            nn.Linear(width, 1),
        )
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        """The backbone's."""
        return cast("nn.Module", self.model.get_input_embeddings())

    def train(self, mode: bool = True) -> PairClassifier:  # noqa: FBT001, FBT002 - torch's own signature
        """Train the head; the backbone stays in evaluation, so that its states are those of the cache."""
        super().train(mode)
        self.model.eval()
        return self

    @torch.no_grad()
    def states(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, position_ids: Tensor | None = None
    ) -> Tensor:
        """The backbone's last hidden states. (B, T, H)."""
        extra = {} if position_ids is None else {"position_ids": position_ids}
        found = self.model(input_ids=input_ids, attention_mask=attention_mask, use_cache=False, **extra)
        return cast("Tensor", found.last_hidden_state)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        states: Tensor | None = None,
        **_: Any,
    ) -> TokenClassifierOutput:
        """Return a logit for each token. (B, T, 1).

        Args:
            input_ids: (B, T).
            attention_mask: (B, T).
            position_ids: (B, T), where rows are packed: a state does not cross from one solution into the next.
            states: (B, T, H), where they were computed before.
        """
        if states is None:
            states = self.states(input_ids, attention_mask, position_ids)
        head = next(self.pair.parameters()).dtype
        before = torch.cat([torch.zeros_like(states[:, :1]), states[:, :-1]], dim=1).to(head)
        if position_ids is not None:
            before = before.masked_fill((position_ids == 0)[..., None], 0.0)
        with torch.no_grad():
            tokens = self.get_input_embeddings()(input_ids).to(head)
        parts = [self.state_norm(before), self.token_norm(tokens)]
        if self.product:
            parts.append(parts[0] * parts[1])
        return TokenClassifierOutput(logits=self.pair(torch.cat(parts, dim=-1)))


def state_size(config: PretrainedConfig) -> int:
    """The size of a backbone's last hidden states: some of OPT's are projected to that of the embeddings."""
    return int(getattr(config, "word_embed_proj_dim", config.hidden_size))


def pair_model(
    backbone: str | Path,
    *,
    width: int = 256,
    dropout: float = 0.0,
    product: bool = True,
    dtype: torch.dtype | str = "auto",
    seed: int = 0,
    **kwargs: Any,
) -> PairClassifier:
    """Put a new pair head on a frozen backbone.

    Args:
        backbone: a folder or a name on the Hub.
        width: units of the head's hidden layer.
        dropout: before the head's last layer.
        product: let the head see the product too; never where states and embeddings differ in size.
        dtype: of the backbone; the head is kept in float32.
        seed: of the head's first weights.
        kwargs: passed to ``from_pretrained``.

    Raises:
        DataError: not a causal backbone.
    """
    config = AutoConfig.from_pretrained(backbone)
    refuse_encoders(config, backbone)
    config.prm_head, config.prm_pair_width, config.prm_pair_dropout = "pair", width, dropout
    with quiet_loading():
        inner = AutoModel.from_pretrained(backbone, config=config, dtype=dtype, **kwargs)
    config.prm_pair_product = product and inner.get_input_embeddings().embedding_dim == state_size(config)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return PairClassifier(config, inner)


def load_pair_model(folder: str | Path, *, dtype: torch.dtype | str = "auto", **kwargs: Any) -> PairClassifier:
    """Load a trained pair head with its backbone.

    Raises:
        DataError: weights are missing.
    """
    config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    loader: Any = PairClassifier
    model, info = loader.from_pretrained(folder, config=config, dtype=dtype, output_loading_info=True, **kwargs)
    refuse_missing(folder, info)
    return cast("PairClassifier", model)
