from functools import partial

from torch.utils.checkpoint import checkpoint


def checkpoint_blocks(blocks):
    # Each block keeps its input only; backward
    # recomputes one block at a time.
    for block in blocks:
        block.forward = partial(
            checkpoint, block.forward, use_reentrant=False
        )
