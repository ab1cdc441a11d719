import torch.nn.functional as F


def train_step(model, optimizer, clips, labels):
    model.half()  # Wrong: fp16 weights cannot take small updates, norms lose digits,
    loss = F.cross_entropy(model(clips.half()), labels)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()  # and gradients below 6e-8 become zero.
    optimizer.step()
