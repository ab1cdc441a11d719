import torch.nn.functional as F


def train_step(model, optimizer, micro_batches):
    optimizer.zero_grad(set_to_none=True)
    total = 0.0
    for clips, labels in micro_batches:
        loss = F.cross_entropy(model(clips), labels)
        # Wrong: `total` holds on to every graph, so
        # all activations stay until backward.
        total = total + loss
    (total / len(micro_batches)).backward()
    optimizer.step()
