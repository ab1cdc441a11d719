import torch
import torch.nn.functional as F


def train_step(model, optimizer, scaler, clips, labels, device="cuda"):
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast(device, dtype=torch.float16):  # forward and loss, no more
        loss = F.cross_entropy(model(clips), labels)
    scaler.scale(loss).backward()  # lifts small gradients above fp16's smallest number
    scaler.unscale_(optimizer)  # before anything looks at the gradients
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)  # leaves the step out where a gradient is inf or nan
    scaler.update()


# once, before the first step: scaler = torch.amp.GradScaler("cuda")
