import torch
import torch.nn.functional as F
from torch.nn.utils import clip_grad_norm_

# before the first step:
# scaler = torch.amp.GradScaler("cuda")


def train_step(model, optimizer, scaler, clips, labels,
               device="cuda"):
    optimizer.zero_grad(set_to_none=True)
    # Forward and loss, no more.
    with torch.autocast(device, dtype=torch.float16):
        loss = F.cross_entropy(model(clips), labels)
    # Lifts gradients above fp16's smallest number.
    scaler.scale(loss).backward()
    # Before anything looks at the gradients.
    scaler.unscale_(optimizer)
    clip_grad_norm_(model.parameters(), 1.0)
    # No step where a gradient is inf or nan.
    scaler.step(optimizer)
    scaler.update()
