"""Texts of the guide: (English, Chinese)."""

from __future__ import annotations

TEXTS: dict[str, tuple[str, str]] = {
    "title": ("Guide", "指南"),
    "intro": (
        "What decides whether a video model trains on a card, in ten short sections. Figures in "
        "tables are computed while you read, by the same code as the calculator.",
        "一块显卡能否训练某个视频模型，取决于什么？分十小节说明。表中的数字由计算器的同一套代码即时算出。",
    ),
    "no_figures": (
        "This copy has no trace of {model} yet, so there is no figure here.",
        "当前副本还没有 {model} 的追踪数据，此处暂无数字。",
    ),
    "wrong": ("Wrong.", "错误。"),
    "right": ("Right.", "正确。"),
    "column_model": ("Model", "模型"),
    "column_setting": ("Setting", "设置"),
    "column_batch": ("Batch", "批大小"),
    "column_peak": ("Peak, GiB", "峰值（GiB）"),
    "column_range": ("90 % range, GiB", "90% 范围（GiB）"),
    "setting": ("{frames} x {size} px, batch {batch}, {precision}", "{frames} 帧 x {size} 像素，批 {batch}，{precision}"),
    "shape": ("{frames} x {size} px, batch {batch}", "{frames} 帧 x {size} 像素，批 {batch}"),
    "range": ("{low:.1f} to {high:.1f}", "{low:.1f} 至 {high:.1f}"),
    # 1 memory
    "memory": ("The memory formula", "显存公式"),
    "memory_text": (
        """
The article that ClipFit started from gives training memory as

`params * 4 * 2 + act * batch * frames * 4` bytes.

Three things are missing:

- **Gradients and optimizer states.** `4 * 2` pays for the weights and one copy. AdamW keeps weights, gradients and two moments, 16 bytes a parameter; DDP adds one more copy of the gradients.
- **The term that decides.** Nearly all memory of a video model is activations, and `act` is left to the reader. It differs many times between models and changes with frame size, precision, attention and checkpointing: see the last column.
- **The moment.** Activations are largest when backward starts, gradients when it ends. What counts is the largest sum at one moment, not the sum of the largest.

ClipFit runs a training step of the real model on tensors without data, writes down every allocation, and takes

`peak = max over all moments (weights + gradients + optimizer + activations + temporaries)`

Each moment is a straight line in the batch, so the answer is exact for every batch. A card must hold more than that peak: what the allocator keeps in reserve, and the CUDA context.
""",
        """
ClipFit 所依据的那篇文章这样估算训练显存（字节）：

`params * 4 * 2 + act * batch * frames * 4`

它漏了三件事：

- **梯度与优化器状态。** `4 * 2` 只够放权重和一份副本。AdamW 要存权重、梯度和两个动量，每个参数 16 字节；DDP 还要再存一份梯度。
- **起决定作用的那一项。** 视频模型的显存几乎全是激活值，而 `act` 却留给读者自己填。它在不同模型之间相差数倍，还随画面边长、精度、注意力实现和检查点而变，见表中最后一列。
- **时刻。** 激活值在反向开始时最多，梯度在反向结束时最多。要看的是同一时刻之和的最大值，而不是各项最大值之和。

ClipFit 用不带数据的张量跑一遍真实模型的训练步，记下每一次分配，取

`峰值 = 所有时刻中的最大值（权重 + 梯度 + 优化器 + 激活值 + 临时量）`

每个时刻的用量都是批大小的一次函数，所以对任何批大小都精确。显卡实际需要的显存比这个峰值更多：还有分配器的预留和 CUDA 上下文。
""",
    ),
    "memory_table": (
        "The article's formula beside ClipFit's, one GPU, AdamW",
        "文章公式与 ClipFit 的对照（单卡，AdamW）",
    ),
    "column_params": ("Parameters, M", "参数（M）"),
    "column_article": ("Article without act, GiB", "文章公式（不含 act），GiB"),
    "column_fixed": ("Weights, gradients, states, GiB", "权重+梯度+状态，GiB"),
    "column_act": ("act it would need, M values", "act 须取值（百万个）"),
    "memory_caption": (
        "act: activation values per clip and frame with which the article's formula would give the "
        "same peak.",
        "act：要让文章公式得到同样的峰值，每段每帧的激活值个数须取多少。",
    ),
    # 2 out of memory
    "oom": ("Why it runs out of memory", "为什么会爆显存"),
    "oom_text": (
        """
- **The batch.** Activations grow with every clip; weights, gradients and optimizer states do not.
- **The clip.** Activations grow with frames, and with the square of the frame size. Attention that stores its scores grows with the square of the number of tokens: frames squared, frame size to the fourth power.
- **Accumulation done wrong.** It is meant to train a large batch with the memory of a small one. Adding up losses and calling backward once keeps every graph alive and saves nothing.
- **Graphs kept by accident.** `history.append(loss)` keeps the graph of every step: use `loss.item()`. Validation without `torch.no_grad()` stores activations nobody needs.
- **Late surprises.** Optimizer states appear in the first `step()`, cuDNN tries algorithms in the first steps, and a fragmented allocator can fail hours in. `PYTORCH_ALLOC_CONF=expandable_segments:True` helps with the last.
""",
        """
- **批大小。** 每多一段视频就多一份激活值；权重、梯度和优化器状态不变。
- **片段本身。** 激活值随帧数增长，随画面边长的平方增长。会保存注意力分数的实现，则按 token 数的平方增长：帧数的平方、边长的四次方。
- **梯度累积写错。** 累积本来是用小批的显存训练大批。把损失先加起来、最后只反向一次，每个计算图都留着，一点也没省。
- **无意中留住计算图。** `history.append(loss)` 会留住每一步的图，应写 `loss.item()`。验证时不加 `torch.no_grad()`，会存下没人用的激活值。
- **后来才出现的。** 优化器状态在第一次 `step()` 才出现；cuDNN 在最初几步试算法；分配器碎片可能导致几小时后才报错，`PYTORCH_ALLOC_CONF=expandable_segments:True` 有助于最后一种。
""",
    ),
    "oom_table": ("Peak of {model} at {frames} frames by batch", "{model} {frames} 帧在不同批大小下的峰值"),
    "oom_sentence": (
        "The article says that Video Swin-T at 16 frames “may exceed 20 GB”, without a batch: it takes "
        "{one:.1f} GiB at batch 1, and batch {batch} is the first in this table above {limit} GiB.",
        "文章说 Video Swin-T 在 16 帧时“可能超过 20 GB”，却没给批大小：批为 1 时只要 {one:.1f} GiB，表中到批 {batch} 才超过 {limit} GiB。",
    ),
    "oom_sentence_never": (
        "The article says that Video Swin-T at 16 frames “may exceed 20 GB”, without a batch: it takes "
        "{one:.1f} GiB at batch 1, and nothing in this table is above {limit} GiB.",
        "文章说 Video Swin-T 在 16 帧时“可能超过 20 GB”，却没给批大小：批为 1 时只要 {one:.1f} GiB，表中没有超过 {limit} GiB 的。",
    ),
    "accumulation_wrong": (
        "Adds up the losses: the memory of the whole batch.",
        "先把损失加起来：占用整批的显存。",
    ),
    "accumulation_right": (
        "One backward per micro-batch: the same gradients, the memory of one micro-batch.",
        "每个小批各反向一次：梯度相同，只占一个小批的显存。",
    ),
    "snippets": (
        "The code on this page is run by ClipFit's tests; they check that the wrong ones are wrong in "
        "the way described.",
        "本页代码都由 ClipFit 的测试实际运行，并确认错误写法确实错在所述之处。",
    ),
    # 3 precision
    "precision": ("Mixed precision done right", "混合精度的正确用法"),
    "precision_text": (
        """
- **The autocast region** covers forward and loss, nothing else. Backward runs in the types that forward chose.
- **Some operations stay in fp32**: norms, softmax, losses, exponentials, long sums. autocast sees to that; do not call `.half()` on the model. What a model keeps in fp32 is memory that AMP does not save, so the saving differs from model to model (table).
- **GradScaler.** Below about 6e-8 an fp16 gradient is zero. The scaler multiplies the loss, divides the gradients again before the optimizer sees them, leaves out steps with inf or nan, and adapts its factor. Call `unscale_` before clipping.
- **bf16** has the range of fp32 and needs no scaler, but only about three digits. Prefer it on Ampere cards and later; V100 and T4 have no bf16 tensor cores. Keep the weights in fp32 (AMP): in pure bf16 an update below about 1/256 of a weight is lost.
""",
        """
- **autocast 区域**只包住前向和损失。反向会沿用前向选定的类型。
- **有些运算保持 fp32**：归一化、softmax、损失、指数、长求和。autocast 会处理，不要对模型调用 `.half()`。留在 fp32 的部分 AMP 省不掉，所以各模型的节省不同（见表）。
- **GradScaler。** fp16 梯度小于约 6e-8 就变成零。它先放大损失，在优化器使用之前再把梯度除回来，遇到 inf 或 nan 就跳过这一步，并自动调整倍数。裁剪之前要先 `unscale_`。
- **bf16** 的数值范围与 fp32 相同，不需要 GradScaler，但只有大约三位有效数字。Ampere 及更新的卡优先用它；V100 和 T4 没有 bf16 张量核心。权重请保持 fp32（AMP）：纯 bf16 下，小于权重约 1/256 的更新会丢失。
""",
    ),
    "precision_table": ("What AMP saves, by model", "AMP 在各模型上省多少"),
    "column_fp32": ("fp32, GiB", "fp32，GiB"),
    "column_fp16": ("fp16 AMP, GiB", "fp16 AMP，GiB"),
    "column_saved": ("Saved", "节省"),
    "precision_wrong": (
        "The whole model in fp16, no scaler: small updates and small gradients are lost.",
        "整个模型转 fp16、没有 GradScaler：小更新和小梯度都会丢失。",
    ),
    "precision_right": ("fp16 with autocast and GradScaler.", "fp16：autocast 加 GradScaler。"),
    "precision_bf16": ("bf16: the same without the scaler.", "bf16：同样写法，不要 GradScaler。"),
    # 4 checkpointing
    "checkpointing": ("Checkpointing", "激活检查点"),
    "checkpointing_text": (
        """
Checkpointing keeps only the inputs of a segment and computes the rest again in backward. The peak is then the kept inputs plus **one segment at full size**. So the size of the segments decides:

- **The article's wrapper** splits the clip along `dim=1`, joins the parts and checkpoints the whole model. One segment holds the whole model: its recomputation needs everything at once, and nothing is saved. In (B, C, T, H, W) `dim=1` is moreover the colours, not the frames.
- **Per block**, each block is a segment: the kept inputs are small and only one block is whole at a time. The price is a second forward.
""",
        """
检查点只保留一段的输入，其余在反向时重算。于是峰值 = 保留的输入 + **一整段的激活值**。关键在于每段多大：

- **文章里的包装器**沿 `dim=1` 切开片段、再拼回去，然后对整个模型做检查点。一段就是整个模型：重算时仍要一次放下全部，什么也没省。何况在 (B, C, T, H, W) 中 `dim=1` 是颜色通道，不是帧。
- **逐块检查点**让每个块各成一段：保留的输入很小，同一时刻只有一个块是完整的。代价是多做一次前向。
""",
    ),
    "checkpointing_table": ("Peak with and without checkpointing, GiB", "有无检查点时的峰值（GiB）"),
    "column_none": ("none", "none"),
    "column_wrapper": ("wrapper (the article's)", "wrapper（文章的写法）"),
    "column_block": ("block", "block"),
    "column_block_saved": ("block saves", "block 节省"),
    "column_block_time": ("step time with block", "block 的步耗时"),
    "times": ("x {n:.2f}", "{n:.2f} 倍"),
    "checkpointing_wrong": ("The article's wrapper, in short.", "文章写法的简化版。"),
    "checkpointing_right": (
        "Per block, for any list of blocks: model.blocks, model.encoder.layer, and so on. For the models "
        "here `bench.checkpointing.checkpoint_blocks(model)` finds them; transformers has "
        "`model.gradient_checkpointing_enable()`.",
        "对任意块列表逐块检查点：model.blocks、model.encoder.layer 等。这里的模型可用 `bench.checkpointing.checkpoint_blocks(model)`；transformers 用 `model.gradient_checkpointing_enable()`。",
    ),
    "checkpointing_caption": (
        "AdamW, one GPU; step time on the {card}, by formula.",
        "AdamW、单卡；步耗时按公式在 {card} 上估算。",
    ),
    # 5 cards
    "cards": ("The card table, corrected", "更正后的显卡参数表"),
    "cards_text": (
        """
The article gives the RTX 4090 {advertised:,.0f} TFLOPS “FP16”. That figure is **FP8 with FP16 accumulate and 2:4 sparsity**. PyTorch AMP runs dense FP16 with FP32 accumulate: {rate_4090:g} TFLOPS on the 4090 and {rate_a100:g} on the A100. The A100 is thus not {article:.2f} but {dense:.2f} times as fast by its peak rate. In training the difference is smaller again, because much of a step waits for memory and launches: the calculator says how much for your model.

Also: 400 W is the A100 SXM4; the PCIe card has 250 W. NVLink's 600 GB/s counts both directions; one direction has 300. And a “40 GB” or “24 GB” card shows PyTorch a little less than that.
""",
        """
文章给 RTX 4090 写的是 {advertised:,.0f} TFLOPS “FP16”。这个数其实是 **FP8、FP16 累加、并开启 2:4 稀疏**。PyTorch AMP 用的是稠密 FP16、FP32 累加：4090 为 {rate_4090:g} TFLOPS，A100 为 {rate_a100:g}。所以按峰值算，A100 不是 4090 的 {article:.2f} 倍，而是 {dense:.2f} 倍。实际训练中差距更小，因为一步里有不少时间在等显存和内核启动：你的模型差多少，看计算器。

另外：400 W 是 A100 SXM4，PCIe 版为 250 W；NVLink 的 600 GB/s 是双向合计，单向 300；“40 GB”“24 GB”的卡，PyTorch 看到的都略少一些。
""",
    ),
    "cards_table": ("Cards: memory and dense rates", "显卡：显存与稠密算力"),
    "column_card": ("Card", "显卡"),
    "column_total": ("PyTorch sees, GiB", "PyTorch 可见（GiB）"),
    "column_dense": ("FP16 dense, TFLOPS", "FP16 稠密（TFLOPS）"),
    "column_matmul": ("matmul measured, TFLOPS", "矩阵乘实测（TFLOPS）"),
    "column_bandwidth": ("Memory, GB/s", "显存带宽（GB/s）"),
    "column_nvlink": ("NVLink per direction, GB/s", "NVLink 单向（GB/s）"),
    "column_tdp": ("Power, W", "功耗（W）"),
    "estimated": ("about {n:.1f}", "约 {n:.1f}"),
    "no_nvlink": ("none", "无"),
    "cards_caption": (
        "FP16 dense: FP32 accumulate, no sparsity. NVLink on PCIe cards and the RTX 3090: only over a "
        "bridge between two of them. Every figure has its source in measurements/cards.yaml.",
        "FP16 稠密：FP32 累加，不含稀疏。PCIe 卡与 RTX 3090 的 NVLink 只能用桥接器连接两块。每个数字的出处见 measurements/cards.yaml。",
    ),
    # 6 environment
    "environment": ("The article's 4090 and its environment", "文章的 4090 与它的环境"),
    "environment_text": (
        """
The article states PyTorch 2.0.1, CUDA 11.7, driver 515.65.01 and Ubuntu 20.04. Its RTX 4090 figures cannot come from that machine:

- Driver 515.65.01 is the one in NVIDIA's CUDA 11.7.1 installer of August 2022. The RTX 4090 came out on {launch}; a driver older than a card does not know it, and the card does not start.
- CUDA 11.7 ends at compute capability 8.7. The 4090 is {capability}; [CUDA 11.8](https://docs.nvidia.com/cuda/archive/11.8.0/cuda-toolkit-release-notes/index.html), whose installer brings driver 520.61.05, is the first that knows it. Code built for 8.6 would run on it, with a newer driver.

So the two columns of the article were not measured on one software stack, if they were measured. A figure without driver, CUDA and PyTorch version beside it cannot be compared with another: `python -m bench run` writes all three into every file.
""",
        """
文章写明的环境是 PyTorch 2.0.1、CUDA 11.7、驱动 515.65.01、Ubuntu 20.04。它的 RTX 4090 数据不可能出自这台机器：

- 驱动 515.65.01 就是 NVIDIA CUDA 11.7.1 安装包（2022 年 8 月）自带的驱动。RTX 4090 在 {launch} 才上市；比显卡还老的驱动不认识它，显卡无法启动。
- CUDA 11.7 最高支持计算能力 8.7，而 4090 是 {capability}。最早支持它的是 [CUDA 11.8](https://docs.nvidia.com/cuda/archive/11.8.0/cuda-toolkit-release-notes/index.html)，安装包自带驱动 520.61.05。为 8.6 编译的代码可以在 4090 上运行，但也要更新的驱动。

因此文章的两列数据即便真的测过，也不是在同一套软件上测的。没有注明驱动、CUDA 和 PyTorch 版本的数字无法互相比较：`python -m bench run` 会把三者写进每个文件。
""",
    ),
    # 7 rules
    "rules": ("The three rules", "三条规则"),
    "rules_text": (
        "The article ends with three rules for taking the A100. ClipFit works each of them out for a job, "
        "and puts beside it what the money says; the two can disagree. For the calculator's first job, "
        "{setting}, {cards}:",
        "文章最后给出选 A100 的三条规则。ClipFit 对具体任务逐条计算，并列出成本的结论；两者可能不一致。以计算器的默认任务为例（{setting}，{cards}）：",
    ),
    "rule_1": (
        "The 4090 must cut its batch below a third of the A100's.",
        "4090 的批大小被迫降到 A100 的三分之一以下。",
    ),
    "rule_2": (
        "Training takes longer than 24 h and the A100 saves at least 30 % of the time.",
        "训练超过 24 小时，且 A100 至少省 30% 的时间。",
    ),
    "rule_3": ("Several GPUs that need NVLink.", "多卡训练且需要 NVLink。"),
    "rule_line": ("**{name}** {held}: {text}.", "**{name}** {held}：{text}。"),
    "rule_money": (" Money: {money}.", "成本：{money}。"),
    # 8 windows
    "windows": ("Windows and its silent spill", "Windows 的悄悄溢出"),
    "windows_text": (
        """
Since driver 536.40 Windows lets a program that runs out of card memory [go on in system memory](https://nvidia.custhelp.com/app/answers/detail/a_id/5490) instead of failing. Nothing is said; the step just takes many times as long, because every access crosses PCIe. So on Windows “it runs” does not mean “it fits”.

- See it: in the task manager “shared GPU memory” grows during training.
- Turn it off (driver 546.01 or newer): NVIDIA Control Panel, Manage 3D settings, CUDA Sysmem Fallback Policy, *Prefer No Sysmem Fallback*. Then it fails honestly.
- The desktop takes its share of the card too: choose Windows in the sidebar and enter what else runs.
""",
        """
从驱动 536.40 起，Windows 上的程序用完显存后会[改用系统内存继续运行](https://nvidia.custhelp.com/app/answers/detail/a_id/5490)，而不是报错。没有任何提示，只是每一步慢很多倍，因为每次访问都要走 PCIe。所以在 Windows 上，“能跑”不等于“放得下”。

- 怎么看出来：训练时任务管理器里的“共享 GPU 内存”在增长。
- 怎么关掉（驱动 546.01 及以上）：NVIDIA 控制面板 → 管理 3D 设置 → CUDA - 系统内存回退策略（*Sysmem Fallback Policy*）→ *Prefer No Sysmem Fallback*。之后显存不够就会如实报错。
- 桌面也占显存：请在侧栏选 Windows，并填写其他占用。
""",
    ),
    # 9 accuracy
    "accuracy": ("How accurate this is", "有多准"),
    "accuracy_text": (
        "Graded on published figures and measured runs that the model did not see: the group of models "
        "that is graded was left out of the fit. A group without rows is not validated, and the page "
        "says so.",
        "用公开数字和实测来评分，且评分时排除了被评的那一组模型，模型没有见过它们。没有数据的组就是未验证，页面会照实写明。",
    ),
    "accuracy_more": (
        "How figures are made, in full: [docs/method.md]({method}).",
        "数字的完整来历见 [docs/method.md]({method})。",
    ),
    "to_measurements": ("Row by row, with sources", "逐行数据与出处"),
    # 10 limits
    "limits": ("What is not modelled", "没有建模的部分"),
    "limits_text": (
        """
- `torch.compile` and CUDA graphs: they fuse kernels and reuse buffers, so memory and speed both differ.
- cuDNN's workspaces: in the first steps of a convolutional net at a small batch they can be the peak.
- Validation during training, online encoders (VAE, text), GPU data augmentation: enter them as extra memory.
- Tensor, sequence and pipeline parallelism, offloading to CPU or disk, FP8 training, LoRA.
- Frames and sizes between the traced ones: windows pad, so the steps in between are not smooth, and ClipFit does not guess.
- Decoding of clips: enter what your loader delivers; for many people that, not the card, is the limit.
""",
        """
- `torch.compile` 和 CUDA Graph：会融合内核、复用缓冲区，显存和速度都会变。
- cuDNN 工作区：卷积网络在小批、最初几步时，它可能才是峰值。
- 训练中的验证、在线编码器（VAE、文本）、GPU 数据增强：请填进“其他自填占用”。
- 张量、序列、流水线并行，卸载到 CPU 或磁盘，FP8 训练，LoRA。
- 追踪点之间的帧数与边长：窗口要补齐，中间不是平滑的，ClipFit 不去猜。
- 视频解码：请填写数据加载器的实际速度；对很多人来说，瓶颈是它而不是显卡。
""",
    ),
}
