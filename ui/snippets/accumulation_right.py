import torch.nn.functional as F


def train_step(model, optimizer, micro_batches):
    optimizer.zero_grad(set_to_none=True)
    for clips, labels in micro_batches:
        loss = F.cross_entropy(model(clips), labels)
        # Backward frees this micro-batch's activations.
        # Gradients add up, so each loss is divided.
        (loss / len(micro_batches)).backward()
    optimizer.step()
