import torch.nn.functional as F


def train_step(model, optimizer, clips, labels):
    # Wrong: fp16 weights cannot take small updates,
    # and norms lose digits.
    model.half()
    loss = F.cross_entropy(model(clips.half()), labels)
    optimizer.zero_grad(set_to_none=True)
    # Wrong: gradients below 6e-8 become zero.
    loss.backward()
    optimizer.step()
