"""What the server of `bench.isolate` imports once, so that no point has to wait for it.

Nothing here may touch a GPU: a process that forks after that leaves its children without one.
"""

import torch._dynamo  # noqa: F401  every optimizer imports it when it is made

import bench.measure  # noqa: F401
