import torch
import torch.nn.functional as F
from torch.nn.utils import clip_grad_norm_


def train_step(model, optimizer, clips, labels, device="cuda"):
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast(device, dtype=torch.bfloat16):
        loss = F.cross_entropy(model(clips), labels)
    # bf16 reaches as far down as fp32: no scaler.
    loss.backward()
    clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
