import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class CheckpointedModel(nn.Module):
    def __init__(self, model, parts=3):
        super().__init__()
        self.model, self.parts = model, parts

    def forward(self, clips):  # (B, C, T, H, W)
        # Wrong: dim 1 is the colours, not the frames.
        pieces = torch.chunk(clips, self.parts, dim=1)
        # Wrong: one segment around the whole model is
        # recomputed all at once; the peak stays.
        return checkpoint(
            self._run, *pieces, use_reentrant=False
        )

    def _run(self, *pieces):
        return self.model(torch.cat(pieces, dim=1))
